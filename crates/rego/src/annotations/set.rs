//! All annotations of a load, by the rule, package or document that they apply to.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Annotations, Schema, Scope, Target, document_path, document_path_in};
use crate::problem::{Problem, Problems, Sources};
use crate::syntax::tree::{Module, Rule, Span, Term, TermKind};
use crate::types::terms;
use crate::value::{Array, Object, Value};

/// All annotations of a load.
#[derive(Debug, Clone, Default)]
pub struct AnnotationSet {
    all: Vec<Arc<Annotations>>,
    by_rule: HashMap<Span, Vec<Arc<Annotations>>>,
    by_package: BTreeMap<Path, Arc<Annotations>>,
    /// Those of documents, and those of packages with their subpackages.
    by_path: BTreeMap<Path, Arc<Annotations>>,
}

/// A path as values: `data` and the keys below it.
type Path = Vec<Value>;

/// An entry of a rule's chain of annotations.
#[derive(Debug, Clone)]
pub struct Link {
    /// The path that the annotations are attached to.
    pub path: Vec<Value>,
    /// The annotations; `None` for a rule that has none of its own.
    pub annotations: Option<Arc<Annotations>>,
}

fn path_of(parts: &[Term]) -> Path {
    parts
        .iter()
        .map(|part| match &part.kind {
            TermKind::Var(name) => Value::from(Arc::clone(name)),
            _ => terms::constant(part).unwrap_or(Value::Null),
        })
        .collect()
}

impl AnnotationSet {
    /// Builds the set from the comments of modules.
    ///
    /// # Errors
    /// A block can't be read, its scope doesn't fit the statement below, or two blocks apply to the
    /// same document or package.
    pub fn of_modules<'m>(
        modules: impl IntoIterator<Item = &'m Module>,
        sources: &Sources,
    ) -> Result<Self, Problems> {
        Self::build(super::of_modules(modules, sources)?, sources)
    }

    /// Builds the set from the attached annotations of all modules, in the order of the modules'
    /// names.
    ///
    /// # Errors
    /// Two blocks apply to the same document or package.
    pub fn build(
        annotations: impl IntoIterator<Item = Annotations>,
        sources: &Sources,
    ) -> Result<Self, Problems> {
        let (mut set, mut problems) = (Self::default(), Vec::new());
        for annotation in annotations {
            let annotation = Arc::new(annotation);
            set.all.push(Arc::clone(&annotation));
            let place = match (&annotation.scope, &annotation.target) {
                (Scope::Rule, Target::Rule(_, span)) => {
                    set.by_rule.entry(*span).or_default().push(annotation);
                    continue;
                }
                (Scope::Package, Target::Package(path)) => set.by_package.entry(path_of(path)),
                (Scope::Document, Target::Rule(path, _))
                | (Scope::Subpackages, Target::Package(path)) => set.by_path.entry(path_of(path)),
                _ => continue,
            };
            match place {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(annotation);
                }
                std::collections::btree_map::Entry::Occupied(first) => {
                    let at = sources.position(first.get().span);
                    let (scope, path, line) = (annotation.scope.as_str(), at.path, at.line);
                    let message = format!("{scope} annotation redeclared: {path}:{line}");
                    problems.push(Problem::types(annotation.span, message));
                }
            }
        }
        if problems.is_empty() { Ok(set) } else { Err(problems) }
    }

    /// All annotations, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Annotations>> {
        self.all.iter()
    }

    /// The annotations of a rule itself, in the order of the module.
    pub fn of_rule(&self, rule: &Rule) -> &[Arc<Annotations>] {
        self.by_rule.get(&rule.span).map_or(&[], Vec::as_slice)
    }

    /// The annotations of the document at a path.
    pub fn of_document(&self, path: &[Term]) -> Option<&Arc<Annotations>> {
        self.by_path.get(&path_of(path))
    }

    /// The block whose scope is exactly this package, if there is one.
    pub fn of_package(&self, path: &[Term]) -> Option<&Arc<Annotations>> {
        self.by_package.get(&path_of(path))
    }

    /// The annotations with scope `subpackages` of a path and of those above it, the outermost
    /// first.
    pub fn of_subpackages(&self, path: &[Term]) -> Vec<&Arc<Annotations>> {
        let path = path_of(path);
        (1..=path.len()).filter_map(|length| self.by_path.get(path.get(..length)?)).collect()
    }

    /// Returns `true` if any of them has a schema.
    pub fn has_schemas(&self) -> bool {
        self.all.iter().any(|annotation| !annotation.schemas.is_empty())
    }

    /// Returns the annotations that apply to a rule in a package, in ascending order of precedence:
    /// those of the packages above (`subpackages`), of its package, of its document, and its own.
    pub fn about(&self, package: &[Term], rule: &Rule) -> impl Iterator<Item = &Arc<Annotations>> {
        self.of_subpackages(package)
            .into_iter()
            .chain(self.of_package(package))
            .chain(self.of_document(&document_path_in(package, rule)))
            .chain(self.of_rule(rule))
    }

    /// The annotations that apply to a rule: its own, the closest first (or one entry without
    /// annotations if it has none), then those of its document, of its package, and of the packages
    /// above, the innermost first.
    pub fn chain(&self, module: &Module, rule: &Rule) -> Vec<Link> {
        let path = document_path(module, rule);
        let here = path_of(&path);
        let link = |path: &Path, annotations: &Arc<Annotations>| Link {
            path: path.clone(),
            annotations: Some(Arc::clone(annotations)),
        };
        let mut own: Vec<&Arc<Annotations>> = self.of_rule(rule).iter().collect();
        own.sort_by_key(|annotation| std::cmp::Reverse(annotation.span.start));
        let mut chain: Vec<Link> =
            own.into_iter().map(|annotation| link(&here, annotation)).collect();
        if chain.is_empty() {
            chain.push(Link { path: here.clone(), annotations: None });
        }
        chain.extend(
            self.of_document(&path)
                .map(|annotation| link(&target_path(annotation, &here), annotation)),
        );
        let package = path_of(&module.package.path);
        chain.extend(
            self.of_package(&module.package.path).map(|annotation| link(&package, annotation)),
        );
        let above = self.of_subpackages(&module.package.path);
        chain.extend(
            above
                .into_iter()
                .rev()
                .map(|annotation| link(&target_path(annotation, &package), annotation)),
        );
        chain
    }

    /// The result of `rego.metadata.chain()` in a rule.
    ///
    /// # Errors
    /// A value isn't JSON; the message is OPA's.
    pub fn chain_value(&self, module: &Module, rule: &Rule) -> Result<Value, Problem> {
        let links = self.chain(module, rule).into_iter().map(|link| {
            let path = link.path.iter().skip(1).map(text_of).collect::<Array>();
            let mut object = Object::from([(Value::from("path"), path.into())]);
            if let Some(annotations) = link.annotations {
                object.insert(Value::from("annotations"), annotations.to_value()?);
            }
            Ok(object.into())
        });
        Ok(links.collect::<Result<Array, _>>()?.into())
    }

    /// The result of `rego.metadata.rule()` in a rule.
    ///
    /// # Errors
    /// A value isn't JSON; the message is OPA's.
    pub fn rule_value(&self, rule: &Rule) -> Result<Value, Problem> {
        let own = self.of_rule(rule).iter().min_by_key(|annotation| annotation.span.start);
        own.map_or(Ok(Value::new_object()), |annotation| annotation.to_value())
    }
}

fn target_path(annotations: &Annotations, otherwise: &Path) -> Path {
    match &annotations.target {
        Target::Package(path) | Target::Rule(path, _) => path_of(path),
        Target::None | Target::Import => otherwise.clone(),
    }
}

fn text_of(part: &Value) -> Value {
    if part.as_str().is_some() { part.clone() } else { Value::from(crate::types::shown_key(part)) }
}

impl Annotations {
    /// The object that `rego.metadata.*` returns for the block.
    ///
    /// # Errors
    /// A mapping within `custom`, `labels` or a schema has a key that isn't a string.
    pub fn to_value(&self) -> Result<Value, Problem> {
        let mut members = Object::new();
        let mut put = |name: &str, value: Value| {
            if value.len() != Some(0) {
                members.insert(Value::from(name), value);
            }
        };
        put("scope", self.scope.as_str().into());
        put("title", self.title.as_str().into());
        put("description", self.description.as_str().into());
        if self.entrypoint {
            put("entrypoint", Value::Bool(true));
        }
        put(
            "organizations",
            self.organizations
                .iter()
                .map(|organization| Value::from(organization.as_str()))
                .collect::<Array>()
                .into(),
        );
        let related = self.related_resources.iter().map(|related_resource| {
            texts(&[
                ("ref", &related_resource.address),
                ("description", &related_resource.description),
            ])
        });
        put("related_resources", related.collect::<Array>().into());
        let authors = self
            .authors
            .iter()
            .map(|author| texts(&[("name", &author.name), ("email", &author.email)]));
        put("authors", authors.collect::<Array>().into());
        let schemas = self.schemas.iter().map(|schema| {
            let path =
                |parts: &[Term]| Value::from(path_of(parts).iter().map(text_of).collect::<Array>());
            let mut members = Object::from([(Value::from("path"), path(&schema.path))]);
            match &schema.schema {
                Schema::Reference(parts) => members.insert(Value::from("schema"), path(parts)),
                Schema::Definition(value) => {
                    members.insert(Value::from("definition"), value.clone())
                }
            };
            Value::from(members)
        });
        put("schemas", schemas.collect::<Array>().into());
        let not_json = |name: &str| {
            let why =
                "ast: interface conversion: json: unsupported type: map[interface {}]interface {}";
            Problem::compile(self.span, format!("invalid {name} annotation {why}"))
        };
        if self
            .schemas
            .iter()
            .any(|schema| matches!(&schema.schema, Schema::Definition(schema) if !has_string_keys(schema)))
        {
            return Err(not_json("schema"));
        }
        for (name, object) in [("custom", &self.custom), ("labels", &self.labels)] {
            if !object.values().all(has_string_keys) {
                return Err(not_json(name));
            }
            put(name, object.clone().into());
        }
        Ok(members.into())
    }
}

fn has_string_keys(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(has_string_keys),
        Value::Object(members) => {
            members.iter().all(|(key, value)| key.as_str().is_some() && has_string_keys(value))
        }
        _ => true,
    }
}

fn texts(pairs: &[(&str, &String)]) -> Value {
    let filled = pairs.iter().filter(|(_, text)| !text.is_empty());
    filled
        .map(|(name, text)| (Value::from(*name), Value::from(text.as_str())))
        .collect::<Object>()
        .into()
}
