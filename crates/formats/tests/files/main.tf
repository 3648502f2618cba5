variable "x" {
  type = string
  default = "d"
}
locals {
  a = 1
  b = 1.50
  neg = -1
  nv = -var.x
  n = null
  t = true
  s = "a ${var.x} b"
  only = "${var.x}"
  lit = "${"q"}"
  esc = "$${x} %%{y} \" \n \u00e9"
  cond = var.x ? 1 : 2
  f = concat([1], [2])
  tup = [1, var.x, "z"]
  obj = { k = 1, "q k" = 2, (var.k) = 3, a.b = 4, "${var.z}" = 5 , m : 6, 7 = 8 }
  forx = [for s in var.l : upper(s)]
  forobj = { for k, v in var.m : k => v }
  h = <<EOT
line ${var.x}
  two
EOT
  hi = <<-EOT
    in
      two
    EOT
  tplif = "%{ if var.x }yes%{ else }no%{ endif }"
  tplfor = "%{ for a in b }x${a}%{ endfor }"
  strip = "a %{~ if x ~} y %{~ endif ~} b ${~ z ~}"
  par = (1)
  pars = ("x")
  op = 1 + 2
  idx = a[0].b
  splat = a[*].b
  not = !true
  multi = foo(
    1,
    2)
}
locals {
  c = 2
}
resource "t" "n1" {
  k = 1
  nested { a = 1 }
  nested { a = 2 }
}
resource "t" "n2" {}
resource "t" "n1" { k = 2 }
resource "t2" n3 {}
provider "p" {}
provider "p" { alias = "z" }
locals {
  within = "a${x ? 1 : 2}b${true}${1}${"q"}${(1)}"
  number = "${1}"
  list   = "${[1, 2]}"
  space  = "${  var.x  }"
  # a comment
  for2   = "%{ for k, v in m }${k}%{ endfor }" // and one
  call   = f(<<A
x
A
  )
  legacy = a.0.b
  ns     = provider::x::f(1)
  splat2 = a.*.b
  nested = { a = { b = [{ c = var.x }] } }
  empty  = ""
  /* and one */
  key    = { true = 1, null = 2, (1 + 1) = 3, "a${var.x}" = 4 }
  cr     = "a\tb\\c"
  neg2   = -(1)
  crlf   = <<-X
      a
    b ${c}
      d
  X
}
