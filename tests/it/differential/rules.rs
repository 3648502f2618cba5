//! Whole rules: their heads, their bodies, and how their definitions spread over files.

use super::expressions::Scope;
use super::plan::{KINDS, Kind, Plan, Symbol};

/// Adds one rule or function, in one definition or several.
pub(super) fn add(plan: &mut Plan) {
    let open: Vec<usize> = (0..plan.packages.len()).filter(|&p| !plan.packages[p].closed).collect();
    if open.is_empty() {
        return;
    }
    let package = *plan.random.pick(&open);
    let number = plan.symbols.len();
    let symbol = match plan.random.below(13) {
        10 | 11 => gaps(plan, package, number),
        12 => falls_through(plan, package, number),
        0..=2 => complete(plan, package, number),
        3 | 4 => holds(plan, package, number),
        5 => partial_set(plan, package, number),
        6 => partial_object(plan, package, number),
        7 => composed(plan, package, number),
        _ => function(plan, package, number),
    };
    plan.symbols.push(symbol);
}

fn symbol(package: usize, name: String, kind: Kind, complete: bool) -> Symbol {
    Symbol { package, name, kind, params: None, complete }
}

fn complete(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let kind = *plan.random.pick(&KINDS);
    let name = format!("r{number}");
    if plan.random.chance(40) {
        default(plan, package, &name, kind);
    }
    // Two definitions of one value often conflict, which OPA reports as an error.
    let definitions = if plan.random.chance(5) { 2 } else { 1 };
    for _ in 0..definitions {
        let file = plan.file_of(package);
        let mut scope = Scope::new(plan, file);
        let body = body(&mut scope, 2);
        let value = scope.expression(kind);
        let mut text = format!("{name} := {value} if {{\n{body}}}");
        while scope.plan.random.chance(35) {
            scope.locals.clear();
            let body = self::body(&mut scope, 2);
            let value = scope.expression(kind);
            text.push_str(&format!(" else := {value} if {{\n{body}}}"));
        }
        plan.files[file].rules.push(text);
    }
    symbol(package, name, kind, true)
}

fn holds(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("r{number}");
    if plan.random.chance(50) {
        let file = plan.file_of(package);
        plan.files[file].rules.push(format!("default {name} := false"));
    }
    for _ in 0..=plan.random.below(3) {
        let file = plan.file_of(package);
        let mut scope = Scope::new(plan, file);
        let body = body(&mut scope, 3);
        plan.files[file].rules.push(format!("{name} if {{\n{body}}}"));
    }
    symbol(package, name, Kind::Bool, true)
}

fn partial_set(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("r{number}");
    for _ in 0..=plan.random.below(3) {
        let file = plan.file_of(package);
        let mut scope = Scope::new(plan, file);
        let body = body(&mut scope, 3);
        let member = scope.expression(Kind::Text);
        plan.files[file].rules.push(format!("{name} contains {member} if {{\n{body}}}"));
    }
    symbol(package, name, Kind::Texts, false)
}

fn partial_object(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("r{number}");
    for _ in 0..=plan.random.below(2) {
        let file = plan.file_of(package);
        let mut scope = Scope::new(plan, file);
        let body = body(&mut scope, 2);
        let source = scope.expression(Kind::Text);
        let (key, value) = (scope.declare(Kind::Text), scope.expression(Kind::Number));
        let text = format!("{name}[{key}] := {value} if {{\n{body}\t{key} := {source}\n}}");
        plan.files[file].rules.push(text);
    }
    symbol(package, name, Kind::Levels, false)
}

/// An object whose fields are rules of their own: `r.low := …`.
fn composed(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("r{number}");
    for field in [".a", ".b", "[\"x-y\"]"] {
        if field != ".a" && plan.random.chance(40) {
            continue;
        }
        let file = plan.file_of(package);
        let mut scope = Scope::new(plan, file);
        let body = body(&mut scope, 2);
        let value = scope.expression(Kind::Number);
        plan.files[file].rules.push(format!("{name}{field} := {value} if {{\n{body}}}"));
    }
    symbol(package, name, Kind::Levels, false)
}

/// A rule whose head has no value for one of the items, wherever that stands among them.
fn gaps(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("r{number}");
    let items = format!("data.{}.items", plan.root);
    let file = plan.file_of(package);
    let form = plan.random.below(6);
    let mut scope = Scope::new(plan, file);
    let body = body(&mut scope, 1);
    let other = scope.expression(Kind::Number);
    let item = scope.declare(Kind::Bool);
    let body = if scope.plan.random.chance(60) {
        format!("if {{\n{body}\tsome {item} in {items}\n}}")
    } else {
        format!("if some {item} in {items}")
    };
    let number = match scope.plan.random.below(3) {
        0 => format!("{item}.n"),
        1 => format!("({item}.n + 1)"),
        _ => format!("abs({item}.n)"),
    };
    let (kind, complete, text) = match form {
        0 => (Kind::Texts, false, format!("contains sprintf(\"%v\", [{number}]) {body}")),
        1 => (Kind::Levels, false, format!("[{item}.id] := {number} {body}")),
        2 => (Kind::Levels, false, format!("[sprintf(\"%v\", [{number}])] := 1 {body}")),
        3 => (Kind::Bool, true, format!(":= ({number} in {{7, 8}}) {body}")),
        4 => (Kind::Texts, false, format!("contains sprintf(\"%v\", [{items}[_].n])")),
        _ => (Kind::Numbers, true, format!(":= [{other}, {number} - {item}.n] {body}")),
    };
    let space = if text.starts_with('[') { "" } else { " " };
    scope.plan.files[file].rules.push(format!("{name}{space}{text}"));
    symbol(package, name, kind, complete)
}

/// A function whose value leads to `else` when it has none.
fn falls_through(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("f{number}");
    let file = plan.file_of(package);
    let mut scope = Scope::new(plan, file);
    scope.in_function = true;
    let argument = scope.declare(Kind::Text);
    let last = scope.constant(Kind::Number);
    let second = scope.expression(Kind::Number);
    let body = body(&mut scope, 1);
    let text = format!(
        "{name}({argument}) := input.m[{argument}] if {{\n{body}}} else := {second} if \
         {argument} != \"a\" else := {last}"
    );
    scope.plan.files[file].rules.push(text);
    Symbol { package, name, kind: Kind::Number, params: Some(vec![Kind::Text]), complete: false }
}

fn function(plan: &mut Plan, package: usize, number: usize) -> Symbol {
    let name = format!("f{number}");
    let kind = *plan.random.pick(&KINDS);
    let params: Vec<Kind> = (0..=plan.random.below(2)).map(|_| *plan.random.pick(&KINDS)).collect();
    let home = plan.file_of(package);
    if plan.random.chance(25) {
        let file = home;
        let value = Scope::new(plan, file).constant(kind);
        let holes = vec!["_"; params.len()].join(", ");
        plan.files[file].rules.push(format!("default {name}({holes}) := {value}"));
    }
    let several = if plan.random.chance(30) { 1 + plan.random.below(2) } else { 0 };
    for _ in 0..=several {
        // Over several files a function is refused; a few are, to see that.
        let file = if plan.random.chance(1) { plan.file_of(package) } else { home };
        let mut scope = Scope::new(plan, file);
        scope.in_function = true;
        let arguments: Vec<String> = params.iter().map(|&k| argument(&mut scope, k)).collect();
        let value_first = scope.plan.random.chance(20).then(|| scope.expression(kind));
        let text = match value_first {
            Some(value) => format!("{name}({}) := {value}", arguments.join(", ")),
            None => {
                let body = body(&mut scope, 2);
                let value = scope.expression(kind);
                format!("{name}({}) := {value} if {{\n{body}}}", arguments.join(", "))
            }
        };
        plan.files[file].rules.push(text);
    }
    Symbol { package, name, kind, params: Some(params), complete: false }
}

fn argument(scope: &mut Scope<'_>, kind: Kind) -> String {
    if matches!(kind, Kind::Number | Kind::Text) && scope.plan.random.chance(25) {
        return scope.constant(kind);
    }
    scope.declare(kind)
}

fn default(plan: &mut Plan, package: usize, name: &str, kind: Kind) {
    let file = plan.file_of(package);
    let value = Scope::new(plan, file).constant(kind);
    plan.files[file].rules.push(format!("default {name} := {value}"));
}

/// A body of one to `most` + 1 statements, one a line.
fn body(scope: &mut Scope<'_>, most: usize) -> String {
    let mut body = String::new();
    for _ in 0..=scope.plan.random.below(most) {
        let statement =
            if scope.plan.random.chance(45) { scope.iteration() } else { scope.condition() };
        // Regorus takes a parenthesis at the start of a line as a call of what stands before.
        let apart = statement.starts_with('(') && !scope.plan.random.chance(2);
        if apart && body.ends_with('\n') {
            body.insert(body.len() - 1, ';');
        }
        body.push_str(&format!("\t{statement}\n"));
    }
    body
}
