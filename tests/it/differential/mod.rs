//! Generated policies, answered by this crate and by OPA.
mod answer;
mod documents;
mod expressions;
mod generate;
mod opa;
mod plan;
mod random;
mod rules;
mod subject;

#[test]
fn probe() {
    let n: u64 = std::env::var("N").unwrap_or("300".into()).parse().unwrap();
    let Some(binary) = opa::binary() else { return };
    let cases: Vec<_> = (0..n).map(generate::case).collect();
    let mut want = vec![];
    for pack in cases.chunks(250) {
        want.extend(opa::answers(&binary, pack));
    }
    let (mut q, mut dis, mut refu, mut err, mut und) = (0, 0, 0, 0, 0);
    let mut badcases = std::collections::BTreeSet::new();
    for (case, want) in cases.iter().zip(&want) {
        if let answer::Answer::Error(e) = &want[0] {
            if !e.starts_with('{') {
                println!("OPA refuses {}: {e}", case.seed)
            }
        }
        let got = std::thread::Builder::new()
            .stack_size(256 << 20)
            .spawn({
                let c = case.clone();
                move || subject::answers(&c)
            })
            .unwrap()
            .join()
            .unwrap_or_else(|_| {
                println!("PANIC {}", case.seed);
                vec![answer::Answer::Error("PANIC".into()); want.len()]
            });
        for ((question, want), got) in case.questions.iter().zip(want).zip(&got) {
            q += 1;
            match want {
                answer::Answer::Error(_) => err += 1,
                answer::Answer::Undefined => und += 1,
                _ => {}
            }
            if want.agrees(got) {
                continue;
            }
            if let answer::Answer::Error(_) = got {
                refu += 1;
                println!("REFUSES {} {question:?}: {got:?}", case.seed);
                if let Ok(d) = std::env::var("DUMP") {
                    std::fs::write(format!("{d}/c{}.json", case.seed), case.data.to_string())
                        .unwrap();
                    std::fs::write(format!("{d}/c{}.input", case.seed), case.input.to_string())
                        .unwrap();
                    for (n, t) in &case.modules {
                        std::fs::write(format!("{d}/{n}"), t).unwrap();
                    }
                }
                continue;
            }
            dis += 1;
            badcases.insert(case.seed);
            if let Ok(d) = std::env::var("DUMP") {
                for (n, t) in &case.modules {
                    std::fs::write(format!("{d}/{n}"), t).unwrap();
                }
                std::fs::write(format!("{d}/c{}.json", case.seed), case.data.to_string()).unwrap();
                std::fs::write(format!("{d}/c{}.input", case.seed), case.input.to_string())
                    .unwrap();
            }
            println!("DISAGREES {} {question:?}\n   want {want:?}\n   got  {got:?}", case.seed);
        }
    }
    println!(
        "{q} questions, {err} errors {und} undefined in opa; {refu} refused {dis} disagree in {} cases",
        badcases.len()
    );
}
