//! Authentication: tokens as JWTs, and the organization that a request is for.
//!
//! Owns the tokens' text and the rules of interface section 5. Tokens are compared as a whole: no
//! claim of a token that this emulator didn't issue is trusted.

use std::collections::HashMap;

use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::dataset::{Credential, Dataset, Organization, TokenKind};
use super::refusal::Refusal;
use super::scalars::{Id, Timestamp};

/// The tokens of a data set under one product's name.
pub(super) struct Tokens {
    by_text: HashMap<String, usize>,
    by_name: HashMap<String, String>,
    organization_header: String,
}

/// The requirement on the caller of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// No token is needed.
    Anyone,
    /// Any valid token.
    Token,
    /// A token of an organization with a paid plan: functions 2 to 5 and the whole backend
    /// (interface 8.3).
    Paid,
    /// A user's token of an organization with a paid plan: API tokens are refused (interface 5.3).
    PaidUser,
}

/// The caller, and the organization that the request is for.
pub(super) struct Caller<'a> {
    pub organization: &'a Organization,
    /// The organization's index, as rows of the data set refer to it.
    pub index: usize,
    /// The user whose token it is; `None` for an API token.
    pub user: Option<&'a Id>,
}

impl Tokens {
    pub fn new(dataset: &Dataset, product: &str) -> Self {
        let mut tokens = Self {
            by_text: HashMap::new(),
            by_name: HashMap::new(),
            organization_header: format!("{product}-organization"),
        };
        for (index, credential) in dataset.identity.credentials.iter().enumerate() {
            let text = jwt(dataset, credential, product);
            tokens.by_name.insert(credential.name.as_str().to_owned(), text.clone());
            tokens.by_text.insert(text, index);
        }
        tokens
    }

    /// Returns a token's text, by its name in the data set.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    /// The header with which a user token selects the organization.
    pub fn organization_header(&self) -> &str {
        &self.organization_header
    }

    /// Authenticates the sender of these headers.
    pub fn caller<'a>(
        &self,
        dataset: &'a Dataset,
        headers: &HeaderMap,
    ) -> Result<Caller<'a>, Refusal> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let value =
            values.next().ok_or_else(|| Refusal::unauthenticated("authentication is required"))?;
        let token = value.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
        let credential = token
            .filter(|_| values.next().is_none())
            .and_then(|token| self.by_text.get(token))
            .and_then(|index| dataset.identity.credentials.get(*index))
            .ok_or_else(|| Refusal::unauthenticated("the token is not valid"))?;
        if credential.expires_at.is_some_and(|end| end <= Timestamp::now()) {
            return Err(Refusal::unauthenticated("the token has expired"));
        }
        let index = self.organization(dataset, credential, headers)?;
        let organization = dataset.identity.organizations.get(index);
        let user = match &credential.kind {
            TokenKind::User { user, .. } => Some(user),
            TokenKind::Api { .. } => None,
        };
        organization
            .map(|organization| Caller { organization, index, user })
            .ok_or_else(|| Refusal::forbidden("the token has no organization"))
    }

    fn organization(
        &self,
        dataset: &Dataset,
        credential: &Credential,
        headers: &HeaderMap,
    ) -> Result<usize, Refusal> {
        let TokenKind::User { organizations, .. } = &credential.kind else {
            return Ok(credential.organization);
        };
        let Some(wanted) = headers.get(self.organization_header.as_str()) else {
            return Ok(credential.organization);
        };
        let wanted = String::from_utf8_lossy(wanted.as_bytes());
        dataset
            .identity
            .organization(&wanted)
            .filter(|index| organizations.contains(index))
            // An unknown organization gets the same answer: a caller who isn't a member doesn't
            // learn which ones exist.
            .ok_or_else(|| {
                Refusal::forbidden(format!("user is not a member of organization {wanted}"))
            })
    }
}

impl Caller<'_> {
    /// Refuses a caller who doesn't have the required `access`.
    pub fn require(&self, access: Access) -> Result<(), Refusal> {
        if matches!(access, Access::Paid | Access::PaidUser) && !self.organization.is_paid() {
            return Err(Refusal::forbidden(format!(
                "this operation needs a paid plan, organization `{}` is on the free plan",
                self.organization.name.as_str()
            )));
        }
        if access == Access::PaidUser && self.user.is_none() {
            return Err(Refusal::forbidden("this operation is restricted to user tokens"));
        }
        Ok(())
    }
}

/// Returns the token's text: the same for the same data set, product and name.
fn jwt(dataset: &Dataset, credential: &Credential, product: &str) -> String {
    let organization = dataset.identity.organizations.get(credential.organization);
    let mut claims = match &credential.kind {
        TokenKind::User { user, .. } => json!({
            "aud": [format!("user-auth.{product}")],
            "iss": format!("{product}.emulator"),
            "user_id": user.as_str(),
        }),
        TokenKind::Api { token } => json!({
            "aud": [format!("api-token-auth.{product}")],
            "iss": format!("{product}.emulator"),
            "jti": token.as_str(),
            "org_id": organization.map(|o| o.id.as_str()),
            "org_name": organization.map(|o| o.name.as_str()),
            "token_name": credential.name.as_str(),
        }),
    };
    if let (Some(end), Some(claims)) = (credential.expires_at, claims.as_object_mut()) {
        claims.insert("exp".to_owned(), Value::from(end.0.timestamp()));
    }
    let header = json!({ "alg": "HS256", "typ": "JWT" });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(&claims));
    let signature = super::hmac_sha256(dataset.service.signing_key.as_bytes(), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
