//! Resources lose nothing: JSON is the same after reading and writing, in either casing.

use proptest::prelude::*;
use rego_platform::api::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::samples;

fn through<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, String> {
    let read: T = serde_json::from_str(&value.to_string()).map_err(|e| e.to_string())?;
    Ok(serde_json::to_value(read).unwrap())
}

/// Converts `created_at` to `createdAt`, in every object.
fn camel(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(camel).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let mut parts = key.split('_');
                let first = parts.next().unwrap().to_owned();
                let rest = parts.map(|part| part[..1].to_uppercase() + &part[1..]);
                (first + &rest.collect::<String>(), camel(value))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[track_caller]
fn kept<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(sample: Value) {
    assert_eq!(through::<T>(&sample).unwrap(), sample);
    // An unknown field would keep the other casing.
    assert_eq!(through::<T>(&camel(&sample)).unwrap(), sample);
    assert_eq!(through::<T>(&json!({})).unwrap(), json!({}));
    // It can be read without any one field, and null is the same as absent.
    let fields = sample.as_object().unwrap();
    for key in fields.keys() {
        let mut less = fields.clone();
        less.remove(key);
        let less = Value::Object(less);
        assert_eq!(through::<T>(&less).unwrap(), less, "{key}");
        let mut null = fields.clone();
        null.insert(key.clone(), Value::Null);
        assert_eq!(through::<T>(&Value::Object(null)).unwrap(), less, "{key}");
        // In both casings, if they agree.
        let other = camel(&json!({ key: 0 })).as_object().unwrap().keys().next().unwrap().clone();
        if other != *key {
            let mut both = fields.clone();
            both.insert(other.clone(), fields[key].clone());
            assert_eq!(through::<T>(&Value::Object(both.clone())).unwrap(), sample, "{key}");
            both.insert(other, Value::Null);
            let error = through::<T>(&Value::Object(both)).unwrap_err();
            assert!(error.contains("different values"), "{error}");
        }
    }
    let mut more = fields.clone();
    more.insert("new_field".to_owned(), json!({"a": [18_446_744_073_709_551_615_u64, -1, 1.5]}));
    let more = Value::Object(more);
    assert_eq!(through::<T>(&more).unwrap(), more);
}

#[test]
fn every_resource_with_every_field_is_the_same_afterwards() {
    kept::<User>(samples::user());
    kept::<ProductResource>(samples::product());
    kept::<ProductSummary>(samples::product_summary());
    kept::<ProductVersion>(samples::product_version());
    kept::<Project>(samples::project());
    kept::<ProjectVersion>(samples::project_version(&json!([{"id": "f-1"}])));
    kept::<Workflow>(samples::workflow());
    kept::<Repository>(samples::repository());
    kept::<Framework>(samples::framework(&json!([samples::project()])));
    kept::<Requirement>(samples::requirement(&json!([{"id": "f-1"}])));
    kept::<Section>(samples::section());
    kept::<Environment>(samples::environment());
    kept::<AssessmentRevision>(samples::assessment());
    kept::<FrameworkCompliance>(samples::framework_compliance());
}

#[test]
fn fields_have_their_types() {
    let version: ProductVersion = serde_json::from_value(samples::product_version()).unwrap();
    assert_eq!(version.status, Some(VersionStatus::Other("VERSION_STATUS_RELEASED".to_owned())));
    assert_eq!(version.created_at.unwrap().utc().unwrap().timestamp_subsec_micros(), 890_123);
    let link = &version.project_versions.unwrap()[0];
    let runs = link.version.as_ref().unwrap().workflow_runs_count.as_ref().unwrap();
    assert_eq!(runs.get(), i128::from(i64::MAX));
    let section: Section = serde_json::from_value(samples::section()).unwrap();
    let second = section.sub_sections.unwrap().remove(0);
    let deepest = second.sub_sections.unwrap().remove(0);
    assert_eq!(deepest.id.as_deref(), Some("s-3"));
    let reference = json!({"scope": "UNSPECIFIED", "revision": "7"});
    let reference: VersionReference = serde_json::from_value(reference).unwrap();
    assert_eq!(reference.scope, Some(RequirementScope::Unspecified));
    assert_eq!(reference.revision, Some(7));
}

#[test]
fn a_documented_field_has_its_type_and_is_there_once() {
    for bad in [
        json!({"id": 7}),
        json!({"created_at": "yesterday"}),
        json!({"workflow_runs_count": "01"}),
        json!({"workflow_runs_count": "18446744073709551616"}),
        json!({"workflow_runs_count": 1.5}),
        json!({"latest": "true"}),
        json!({"frameworks": {}}),
        json!({"frameworks": [7]}),
        json!({"frameworks": [null]}),
        json!([]),
        json!(null),
    ] {
        assert!(through::<ProjectVersion>(&bad).is_err(), "{bad}");
    }
    assert!(serde_json::from_str::<ProductResource>(r#"{"id":"a","id":"a"}"#).is_err());
    let twice = r#"{"inputs":{"a":"1","a":"2"}}"#;
    assert!(serde_json::from_str::<Workflow>(twice).is_err());
    // A 64-bit count that comes as a number becomes the documented string.
    let number = json!({"workflow_runs_count": 18_446_744_073_709_551_615_u64});
    let text = json!({"workflow_runs_count": "18446744073709551615"});
    assert_eq!(through::<ProjectVersion>(&number).unwrap(), text);
}

proptest! {
    #[test]
    fn every_value_of_an_enumeration_survives(value in "\\PC{0,40}") {
        let environment = json!({"type": value});
        prop_assert_eq!(through::<Environment>(&environment).unwrap(), environment);
    }

    #[test]
    fn no_text_makes_reading_panic(text in "\\PC{0,200}") {
        let _ = serde_json::from_str::<FrameworkCompliance>(&text);
    }
}

/// Sections contain sections: too deep a nesting is refused, on a thread of the usual size too.
#[test]
fn too_deep_a_nesting_is_refused() {
    let nested = |depth: usize| {
        let open =
            r#"{"sub_sections":[{"requirements":[{"frameworks":[{"sections":["#.repeat(depth);
        format!("{open}{}", "]}]}]}]}".repeat(depth))
    };
    let read = |text: String| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        thread
            .spawn(move || serde_json::from_str::<Section>(&text).is_ok())
            .unwrap()
            .join()
            .unwrap()
    };
    assert!(read(nested(15)));
    for depth in [16, 17, 1000, 100_000] {
        assert!(!read(nested(depth)), "{depth}");
    }
}
