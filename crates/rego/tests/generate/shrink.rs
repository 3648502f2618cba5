//! Makes a case smaller while it still shows the same.
//!
//! Works on tokens of the text, not on a tree, so it shrinks any case, even one that doesn't parse.

use super::case::Case;

/// Returns a smaller case for which `holds` is still true, after at most `tries` tries.
pub fn shrink(case: &Case, tries: usize, holds: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut left = tries;
    loop {
        let before = best.clone();
        fewer(&mut best, &mut left, holds);
        for file in 0..best.files.len() {
            lines(&mut best, file, &mut left, holds);
            token_runs(&mut best, file, &mut left, holds);
        }
        inputs(&mut best, &mut left, holds);
        if best == before || left == 0 {
            return best;
        }
    }
}

fn attempt(
    best: &mut Case,
    next: Case,
    left: &mut usize,
    holds: &mut dyn FnMut(&Case) -> bool,
) -> bool {
    if *left == 0 || next == *best {
        return false;
    }
    *left -= 1;
    let good = holds(&next);
    if good {
        *best = next;
    }
    good
}

/// Removes files, queries and inputs.
fn fewer(best: &mut Case, left: &mut usize, holds: &mut dyn FnMut(&Case) -> bool) {
    let mut i = 0;
    while best.files.len() > 1 && i < best.files.len() {
        let mut next = best.clone();
        next.files.remove(i);
        if !attempt(best, next, left, holds) {
            i += 1;
        }
    }
    for i in (0..best.queries.len()).rev() {
        if best.queries.len() > 1 {
            let mut next = best.clone();
            next.queries.remove(i);
            attempt(best, next, left, holds);
        }
    }
    for i in (0..best.inputs.len()).rev() {
        if best.inputs.len() > 1 {
            let mut next = best.clone();
            next.inputs.remove(i);
            attempt(best, next, left, holds);
        }
    }
    if best.data != "{}" {
        let mut next = best.clone();
        next.data = "{}".to_owned();
        attempt(best, next, left, holds);
    }
}

/// Removes runs of lines, long ones first.
fn lines(best: &mut Case, file: usize, left: &mut usize, holds: &mut dyn FnMut(&Case) -> bool) {
    let count = best.files[file].1.lines().count();
    let mut size = count.next_power_of_two() / 2;
    while size > 0 {
        let mut at = 0;
        loop {
            let all: Vec<&str> = best.files[file].1.lines().collect();
            if at >= all.len() {
                break;
            }
            let end = (at + size).min(all.len());
            let kept: Vec<&str> = all[..at].iter().chain(&all[end..]).copied().collect();
            let mut next = best.clone();
            next.files[file].1 = kept.join("\n");
            if !attempt(best, next, left, holds) {
                at += size;
            }
        }
        size /= 2;
    }
}

/// Simplifies runs of tokens: those between separators and brackets are dropped, brackets are
/// removed or replaced by their content, tokens replaced by simpler ones.
fn token_runs(
    best: &mut Case,
    file: usize,
    left: &mut usize,
    holds: &mut dyn FnMut(&Case) -> bool,
) {
    let mut at = 0;
    loop {
        let text = best.files[file].1.clone();
        let tokens = tokens(&text);
        if at >= tokens.len() {
            return;
        }
        let mut done = false;
        for (from, to, with) in edits(&text, &tokens, at) {
            let mut changed = String::with_capacity(text.len());
            changed.push_str(&text[..from]);
            changed.push_str(with);
            changed.push_str(&text[to..]);
            if changed.len() >= text.len() && with.len() >= to - from {
                continue;
            }
            let mut next = best.clone();
            next.files[file].1 = changed;
            if attempt(best, next, left, holds) {
                done = true;
                break;
            }
        }
        if !done {
            at += 1;
        }
    }
}

/// A token: its start and end.
type Token = (usize, usize);

fn tokens(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut list = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        at += 1;
        match byte {
            b' ' | b'\t' | b'\r' => continue,
            b'"' | b'`' => {
                while at < bytes.len() && bytes[at] != byte {
                    if bytes[at] == b'\\' && byte == b'"' {
                        at += 1;
                    }
                    at += 1;
                }
                at = (at + 1).min(bytes.len());
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
            }
            b':' | b'=' | b'!' | b'<' | b'>' if at < bytes.len() && bytes[at] == b'=' => at += 1,
            _ => {
                while at < bytes.len() && !text.is_char_boundary(at) {
                    at += 1;
                }
            }
        }
        list.push((start, at));
    }
    list
}

/// Returns the token that closes the bracket at `open`.
fn closing(text: &str, tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (index, (from, to)) in tokens.iter().enumerate().skip(open) {
        match &text[*from..*to] {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the edits that start at a token: start, end, replacement.
fn edits<'a>(text: &'a str, tokens: &[Token], at: usize) -> Vec<(usize, usize, &'a str)> {
    let word = |index: usize| tokens.get(index).map_or("", |(from, to)| &text[*from..*to]);
    let (start, first_end) = tokens[at];
    let mut list = Vec::new();
    // From here to each further separator or the end of the bracket: dropped with the separator.
    let mut index = at;
    let mut depth = 0_i32;
    let mut ends = Vec::new();
    while index < tokens.len() && ends.len() < 6 {
        match word(index) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth < 0 {
                    ends.push(tokens[index].0);
                    break;
                }
                if depth == 0 {
                    ends.push(tokens[index].1);
                }
            }
            "," | ";" | "|" | "\n" if depth == 0 => {
                ends.push(tokens[index].1);
            }
            _ if depth == 0 => ends.push(tokens[index].1),
            _ => {}
        }
        index += 1;
    }
    ends.sort_unstable();
    ends.dedup();
    for end in ends.iter().rev() {
        if *end > start {
            list.push((start, *end, ""));
        }
    }
    // A bracket: replaced by its content, alone or with the name before it, or by a small constant.
    if matches!(word(at), "(" | "[" | "{")
        && let Some(close) = closing(text, tokens, at)
    {
        let end = tokens[close].1;
        if close > at + 1 {
            list.push((start, end, text[tokens[at].1..tokens[close].0].trim()));
        }
        list.push((start, end, "1"));
        list.push((start, end, "[]"));
        // The items one by one.
        let mut item = at + 1;
        let mut depth = 0_i32;
        for inner in at + 1..=close {
            match word(inner) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if inner < close => depth -= 1,
                "," | ";" | "|" | ":" if depth == 0 => {
                    if inner > item {
                        list.push((start, end, text[tokens[item].0..tokens[inner - 1].1].trim()));
                    }
                    item = inner + 1;
                }
                _ => {}
            }
            if inner == close && inner > item {
                list.push((start, end, text[tokens[item].0..tokens[inner - 1].1].trim()));
            }
        }
    }
    // A call or an indexed name: its bracket's content.
    if at + 1 < tokens.len() && matches!(word(at + 1), "(" | "[") && first_end == tokens[at + 1].0 {
        if let Some(close) = closing(text, tokens, at + 1) {
            let end = tokens[close].1;
            list.push((start, end, text[tokens[at + 1].1..tokens[close].0].trim()));
            list.push((start, end, "1"));
        }
    }
    if first_end - start > 1 && word(at) != "\n" {
        list.push((start, first_end, "1"));
    }
    list
}

/// Removes members and elements of the inputs.
fn inputs(best: &mut Case, left: &mut usize, holds: &mut dyn FnMut(&Case) -> bool) {
    for which in 0..=best.inputs.len() {
        loop {
            let text = if which == best.inputs.len() { &best.data } else { &best.inputs[which] };
            let Ok(json) = serde_json::from_str::<serde_json::Value>(text) else { break };
            let mut done = false;
            for next in smaller(&json) {
                let mut case = best.clone();
                let slot = if which == best.inputs.len() {
                    &mut case.data
                } else {
                    &mut case.inputs[which]
                };
                *slot = next.to_string();
                if which == best.inputs.len() && !next.is_object() {
                    continue;
                }
                if attempt(best, case, left, holds) {
                    done = true;
                    break;
                }
            }
            if !done {
                break;
            }
        }
    }
}

fn smaller(json: &serde_json::Value) -> Vec<serde_json::Value> {
    use serde_json::Value as Json;
    let mut list = Vec::new();
    match json {
        Json::Object(members) => {
            for key in members.keys() {
                let mut next = members.clone();
                next.remove(key);
                list.push(Json::Object(next));
            }
            for (key, member) in members {
                for inner in smaller(member) {
                    let mut next = members.clone();
                    next.insert(key.clone(), inner);
                    list.push(Json::Object(next));
                }
            }
        }
        Json::Array(items) => {
            for index in 0..items.len() {
                let mut next = items.clone();
                next.remove(index);
                list.push(Json::Array(next));
            }
            for (index, item) in items.iter().enumerate() {
                for inner in smaller(item) {
                    let mut next = items.clone();
                    next[index] = inner;
                    list.push(Json::Array(next));
                }
            }
        }
        _ => {}
    }
    list
}
