//! `download_artifact(digest)`: an artifact's content.

use std::sync::Arc;

use crate::rego::Value;

use super::arguments::{Invalid, argument, digest};
use super::{Answer, AnswerFuture, Argument, ContentForm, Cost, Function, Origin, Request, Type};
use crate::Error;
use crate::client::{Client, Content, Context, DOWNLOAD, RequestedForm, download};

pub(super) static FUNCTION: Function = Function {
    name: "download_artifact",
    arguments: &[Argument {
        name: "digest",
        ty: Type::Digest,
        doc: "`sha256:<64 hex>`, lowercase",
    }],
    result: Type::String,
    summary: "an artifact's content, verified against its digest",
    doc: "UTF-8 content comes as it is, everything else as standard base64. Content that doesn't \
          hash to the digest never reaches a policy. Interface section 4.7; needs a paid plan.",
    cost: Cost::Content,
    api: DOWNLOAD.api,
    paid_plan: true,
    optional: false,
    origin: Origin::Composed,
    parse,
};

#[derive(Debug)]
struct DownloadArtifact {
    digest: String,
}

fn parse(arguments: &[Value]) -> Result<Arc<dyn Request>, Invalid> {
    let digest = digest("digest", argument(arguments, 0), &["sha256"])?;
    Ok(Arc::new(DownloadArtifact { digest }))
}

impl Request for DownloadArtifact {
    fn normalised(&self) -> Vec<Value> {
        vec![Value::from(self.digest.as_str())]
    }

    fn send<'a>(&'a self, client: &'a Client, context: &'a Context) -> AnswerFuture<'a> {
        Box::pin(async move {
            // A single invalid byte makes a text base64, in which a search finds nothing: reports
            // state which of the two a policy was given.
            let (text, form) =
                match download(client, context, &self.digest, RequestedForm::Text).await? {
                    Content::Text(text) => (text, ContentForm::Text),
                    Content::Base64(text) => (text, ContentForm::Base64),
                    Content::Bytes(_) => {
                        return Err(Error::internal("content came in no form"));
                    }
                };
            Ok(Answer { form: Some(form), ..Value::from(text).into() })
        })
    }
}
