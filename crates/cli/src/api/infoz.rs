//! `api infoz`.

use clap::Args;
use rego_platform::Error;
use rego_platform::api::BlockingApiClient;

use super::table::Table;
use super::{Answer, OutputArgs};

/// Show the control plane's description of itself; needs no token
#[derive(Debug, Args)]
pub(crate) struct InfozArgs {
    #[command(flatten)]
    pub form: OutputArgs,
}

pub(super) fn ask(api: &BlockingApiClient) -> Result<Answer, Error> {
    let infoz = api.infoz()?;
    let json = serde_json::to_value(&infoz).map_err(|error| {
        Error::internal("the response can't be written as JSON").with_source(error)
    })?;
    let more = infoz.more.iter().map(|(name, value)| format!("{name}={value}"));
    let more: Vec<String> = more.collect();
    let mut fields = vec![
        ("Version", infoz.version),
        ("Chart", infoz.chart_version),
        ("Login", infoz.login_url),
    ];
    if !more.is_empty() {
        fields.push(("More", more.join(", ")));
    }
    let table = Table::of_fields(fields);
    Ok(Answer { tables: vec![table], json })
}
