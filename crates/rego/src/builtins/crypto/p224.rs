//! The curve P-224: public points, and verification of signatures.
//!
//! Owns its arithmetic, on integers of any length: the crate `p224` has only candidates for the versions
//! that the other curves have (0.14.0-rc.15). Its running time depends on the numbers, so nothing is
//! signed with it; private keys are only read, and stay on this machine.

use num_bigint::BigUint;
use num_traits::{One as _, Zero as _};

const P: &[u8] = b"ffffffffffffffffffffffffffffffff000000000000000000000001";
const B: &[u8] = b"b4050a850c04b3abf54132565044b0b7d7bfd8ba270b39432355ffb4";
const N: &[u8] = b"ffffffffffffffffffffffffffff16a2e0b8f03e13dd29455c5c2a3d";
const G: (&[u8], &[u8]) = (
    b"b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21",
    b"bd376388b5f723fb4c22dfe6cd4375a05a07476444d5819985007e34",
);

/// The number of bytes in a coordinate.
const SIZE: usize = 28;

fn number(hex: &[u8]) -> BigUint {
    BigUint::parse_bytes(hex, 16).unwrap_or_default()
}

/// A point in Jacobian coordinates: x/z² and y/z³; infinity if z is zero.
#[derive(Clone)]
struct Point {
    x: BigUint,
    y: BigUint,
    z: BigUint,
}

/// The prime field of the coordinates.
struct Field(BigUint);

impl Field {
    fn new() -> Self {
        Self(number(P))
    }

    fn mul(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a * b) % &self.0
    }

    fn add(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + b) % &self.0
    }

    fn sub(&self, a: &BigUint, b: &BigUint) -> BigUint {
        (a + &self.0 - b) % &self.0
    }

    fn infinity() -> Point {
        Point { x: BigUint::one(), y: BigUint::one(), z: BigUint::zero() }
    }

    fn double(&self, p: &Point) -> Point {
        if p.z.is_zero() || p.y.is_zero() {
            return Self::infinity();
        }
        let (z2, y2) = (self.mul(&p.z, &p.z), self.mul(&p.y, &p.y));
        // 3 (x - z²) (x + z²), since the curve's a is -3.
        let slope = self.mul(&self.sub(&p.x, &z2), &self.add(&p.x, &z2)) * 3_u32 % &self.0;
        let s = self.mul(&p.x, &y2) * 4_u32 % &self.0;
        let x = self.sub(&self.mul(&slope, &slope), &self.add(&s, &s));
        let y4 = self.mul(&y2, &y2) * 8_u32 % &self.0;
        let y = self.sub(&self.mul(&slope, &self.sub(&s, &x)), &y4);
        let z = self.mul(&p.y, &p.z) * 2_u32 % &self.0;
        Point { x, y, z }
    }

    fn add_points(&self, p: &Point, q: &Point) -> Point {
        if p.z.is_zero() {
            return q.clone();
        }
        if q.z.is_zero() {
            return p.clone();
        }
        let (pz2, qz2) = (self.mul(&p.z, &p.z), self.mul(&q.z, &q.z));
        let (u1, u2) = (self.mul(&p.x, &qz2), self.mul(&q.x, &pz2));
        let s1 = self.mul(&p.y, &self.mul(&q.z, &qz2));
        let s2 = self.mul(&q.y, &self.mul(&p.z, &pz2));
        let (h, r) = (self.sub(&u2, &u1), self.sub(&s2, &s1));
        if h.is_zero() {
            return if r.is_zero() { self.double(p) } else { Self::infinity() };
        }
        let h2 = self.mul(&h, &h);
        let h3 = self.mul(&h, &h2);
        let v = self.mul(&u1, &h2);
        let x = self.sub(&self.sub(&self.mul(&r, &r), &h3), &self.add(&v, &v));
        let y = self.sub(&self.mul(&r, &self.sub(&v, &x)), &self.mul(&s1, &h3));
        let z = self.mul(&h, &self.mul(&p.z, &q.z));
        Point { x, y, z }
    }

    fn multiply(&self, k: &BigUint, p: &Point) -> Point {
        let mut out = Self::infinity();
        for bit in (0..k.bits()).rev() {
            out = self.double(&out);
            if k.bit(bit) {
                out = self.add_points(&out, p);
            }
        }
        out
    }

    /// Returns the affine coordinates; `None` for infinity.
    fn affine(&self, p: &Point) -> Option<(BigUint, BigUint)> {
        if p.z.is_zero() {
            return None;
        }
        let inverse = p.z.modpow(&(&self.0 - 2_u32), &self.0);
        let square = self.mul(&inverse, &inverse);
        let y = self.mul(&p.y, &self.mul(&square, &inverse));
        Some((self.mul(&p.x, &square), y))
    }
}

fn generator() -> Point {
    Point { x: number(G.0), y: number(G.1), z: BigUint::one() }
}

/// Reads an uncompressed point; returns `None` if it isn't on the curve.
fn read(point: &[u8]) -> Option<Point> {
    let (4, coordinates) = point.split_first()? else { return None };
    if coordinates.len() != 2 * SIZE {
        return None;
    }
    let (x, y) = coordinates.split_at_checked(SIZE)?;
    let (x, y) = (BigUint::from_bytes_be(x), BigUint::from_bytes_be(y));
    // y² = x³ - 3x + b
    let p = number(P);
    let on =
        x < p && y < p && (&y * &y) % &p == (&x * &x * &x + (&p - 3_u32) * &x + number(B)) % &p;
    on.then(|| Point { x, y, z: BigUint::one() })
}

/// Returns `true` if `point` is an uncompressed point on the curve.
pub(super) fn is_on_curve(point: &[u8]) -> bool {
    read(point).is_some()
}

/// Computes the uncompressed public point; `None` if `d` isn't a valid private number.
pub(super) fn point(d: &[u8]) -> Option<Vec<u8>> {
    let d = BigUint::from_bytes_be(d);
    if d.is_zero() || d >= number(N) {
        return None;
    }
    let field = Field::new();
    let (x, y) = field.affine(&field.multiply(&d, &generator()))?;
    let mut out = vec![4];
    for coordinate in [x, y] {
        let bytes = coordinate.to_bytes_be();
        out.resize(out.len() + SIZE.saturating_sub(bytes.len()), 0);
        out.extend(bytes);
    }
    Some(out)
}

/// Returns `true` if the signature is valid for the digest.
pub(super) fn verify(key: &[u8], digest: &[u8], r: &[u8], s: &[u8]) -> bool {
    let Some(key) = read(key) else { return false };
    let (n, r, s) = (number(N), BigUint::from_bytes_be(r), BigUint::from_bytes_be(s));
    if r.is_zero() || s.is_zero() || r >= n || s >= n {
        return false;
    }
    let e = BigUint::from_bytes_be(digest.get(..SIZE).unwrap_or(digest));
    let w = s.modpow(&(&n - 2_u32), &n);
    let field = Field::new();
    let by_digest = field.multiply(&((e * &w) % &n), &generator());
    let by_key = field.multiply(&((&r * &w) % &n), &key);
    field.affine(&field.add_points(&by_digest, &by_key)).is_some_and(|(x, _)| x % n == r)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |at: usize| u8::from_str_radix(text.get(at..at + 2).unwrap(), 16).unwrap();
        (0..text.len()).step_by(2).map(digit).collect()
    }

    /// RFC 6979, A.2.4: the key, and the text `sample` signed with SHA-256.
    #[test]
    fn the_published_signature_is_valid_and_no_other() {
        let d = hex("f220266e1105bfe3083e03ec7a3a654651f45e37167e88600bf257c1");
        let key = point(&d).unwrap();
        let x = "00cf08da5ad719e42707fa431292dea11244d64fc51610d94b130d6c";
        let y = "eeab6f3debe455e3dbf85416f7030cbd94f34f2d6f232c69f3c1385a";
        assert_eq!(key, [vec![4], hex(x), hex(y)].concat());
        let r = hex("61aa3da010e8e8406c656bc477a7a7189895e7e840cdfe8ff42307ba");
        let s = hex("bc814050dab5d23770879494f9e0a680dc1af7161991bde692b10101");
        let digest = hex("af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf");
        assert!(verify(&key, &digest, &r, &s));
        assert!(!verify(&key, &digest, &s, &r));
        assert!(!verify(&key, &hex("00ff"), &r, &s));
        assert!(
            !verify(&key, &digest, &[0], &s)
                && !verify(&key, &digest, &r, &number(N).to_bytes_be())
        );
        assert!(!is_on_curve(&key[1..]) && !is_on_curve(&[4; 57]));
        assert!(point(&[0]).is_none() && point(&number(N).to_bytes_be()).is_none());
    }
}
