//! x
use super::load::{Loaded, RewrittenQuery};
use crate::Error;
use regorus::{Engine, Value};
/// x
#[derive(Debug, Clone)]
pub struct QueryOutput {
    /// x
    pub value: Value,
}
pub(crate) fn answer(
    engine: &mut Engine,
    query: &RewrittenQuery,
    loaded: &Loaded,
) -> Result<QueryOutput, Error> {
    let r = engine
        .eval_query(query.text.clone(), false)
        .map_err(|e| Error::policy(vec![loaded.diagnose(&e.to_string())]))?;
    Ok(QueryOutput {
        value: r
            .result
            .first()
            .and_then(|r| r.expressions.first())
            .map_or(Value::Undefined, |e| e.value.clone()),
    })
}
