//! x
use crate::Error;
use regorus::Engine;
pub(crate) const CHANCE: &[&str] = &["time.now_ns", "uuid.rfc4122", "rand.intn"];
pub(crate) fn provided_builtins() -> Vec<(String, u8)> {
    vec![]
}
pub(crate) fn install(engine: &mut Engine, names: &[(String, u8)]) -> Result<(), Error> {
    for (name, arity) in names {
        let n = name.clone();
        let ext = move |args: Vec<regorus::Value>| -> anyhow::Result<regorus::Value> {
            let Some(scope) = super::scope::current() else { anyhow::bail!("no evaluation") };
            scope.check()?;
            scope.calls().call(&n, args).map_err(|e| scope.fail(e).into())
        };
        engine
            .add_extension(name.clone(), *arity, Box::new(ext))
            .map_err(|e| Error::new(crate::ErrorKind::Configuration, e.to_string()))?;
    }
    Ok(())
}
