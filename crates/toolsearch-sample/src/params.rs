//! Which parameters a tool takes, from its operation and options.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::field::{Field, Kind, Range};
use crate::plan::{Entity, Param, Role, between, words};
use crate::spec::{Op, Style, ToolSpec};
use crate::store::{DEFAULT_PAGE, MAX_BATCH, MAX_PAGE, MAX_RECORDS};

/// Works the parameters of a tool of `entities[at]` out.
pub(crate) fn params(
    entities: &[Entity],
    at: usize,
    tool: &ToolSpec,
    style: Style,
) -> Result<Vec<Param>, String> {
    let mut list = Params {
        entities,
        entity: &entities[at],
        tool,
        style,
        params: Vec::new(),
    };
    match tool.op {
        Op::Create => list.settable(true)?,
        Op::Get | Op::Delete | Op::Field => list.id(),
        Op::Update => list.update()?,
        Op::Set | Op::Copy => list.change()?,
        Op::Append => list.append()?,
        Op::Remove => list.remove()?,
        Op::Increment => list.increment()?,
        Op::Find => list.find()?,
        Op::List => list.list()?,
        Op::Search => list.search()?,
        Op::Count | Op::Sum => list.aggregate()?,
    }
    list.check_options()?;
    let mut names: Vec<&str> = list.params.iter().map(|param| &*param.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two parameters are named `{}`", pair[0])),
        None => Ok(list.params),
    }
}

struct Params<'a> {
    entities: &'a [Entity],
    entity: &'a Entity,
    tool: &'a ToolSpec,
    style: Style,
    params: Vec<Param>,
}

impl Params<'_> {
    fn push(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        role: Role,
        description: impl Into<Cow<'static, str>>,
    ) -> &mut Param {
        let example = match &kind {
            Kind::Ref(name) => self.first_id(name),
            Kind::List(element) => match **element {
                Kind::Ref(name) => self.first_id(name),
                _ => None,
            },
            _ => None,
        };
        let (name, description) = (name.into(), description.into());
        let place = self.params.len();
        self.params.push(Param {
            name,
            kind,
            required: false,
            default: None,
            description,
            role,
            example,
        });
        &mut self.params[place]
    }

    fn first_id(&self, entity: &str) -> Option<String> {
        self.entities
            .iter()
            .find(|other| other.name == entity)?
            .first_id()
    }

    /// A parameter name of several words in the style of the service.
    fn name(&self, first: &str, second: &str) -> String {
        match (self.style, second.chars().next()) {
            (Style::Camel, Some(initial)) => {
                format!(
                    "{first}{}{}",
                    initial.to_ascii_uppercase(),
                    &second[initial.len_utf8()..]
                )
            }
            _ => format!("{first}_{second}"),
        }
    }

    fn id(&mut self) {
        let entity = self.entity;
        if self.tool.options.many {
            let ids = Kind::List(Arc::new(Kind::Ref(entity.name)));
            let text = format!("Ids of the {}, at most {MAX_BATCH}.", entity.plural);
            self.push(format!("{}s", entity.param), ids, Role::Ids, text)
                .required = true;
        } else {
            let text = format!("Id of the {}.", entity.words());
            self.push(entity.param, Kind::Ref(entity.name), Role::Id, text)
                .required = true;
        }
    }

    fn field(&mut self, field: &Field) -> &mut Param {
        self.push(
            field.name,
            field.kind.clone(),
            Role::Field(field.name),
            field.description,
        )
    }

    /// The fields that callers may set.
    fn settable(&mut self, creating: bool) -> Result<(), String> {
        let entity = self.entity;
        match &self.tool.options.take {
            Some(names) => {
                for name in names {
                    self.field(entity.field(name)?);
                }
            }
            None => {
                let named = |field: &Field| !creating && field.name == entity.param;
                let open = entity
                    .fields
                    .iter()
                    .filter(|field| !field.read_only && !named(field));
                for field in open {
                    let param = self.field(field);
                    if creating {
                        param.required = field.required;
                        param.default.clone_from(&field.default);
                    }
                }
            }
        }
        Ok(())
    }

    fn needed(&mut self) -> Result<(), String> {
        for name in &self.tool.options.need {
            let field = self.entity.field(name)?;
            self.field(field).required = true;
        }
        Ok(())
    }

    fn update(&mut self) -> Result<(), String> {
        self.id();
        self.needed()?;
        self.settable(false)
    }

    fn change(&mut self) -> Result<(), String> {
        self.id();
        self.needed()?;
        for name in self.tool.options.take.iter().flatten() {
            self.field(self.entity.field(name)?);
        }
        Ok(())
    }

    /// The list field that a tool adds to or takes from.
    fn elements(&self) -> Result<(&Field, Kind), String> {
        let field = self
            .entity
            .field(self.tool.options.field.ok_or("needs `field`")?)?;
        match &field.kind {
            Kind::List(element) => Ok((field, Kind::clone(element))),
            _ => Err(format!("`{}` is no list", field.name)),
        }
    }

    fn append(&mut self) -> Result<(), String> {
        self.change()?;
        let (name, (list, element)) = (self.tool.options.r#as, self.elements()?);
        if let Kind::Object(parts) = &element {
            for part in parts.iter().filter(|part| !part.read_only) {
                let param = self.push(part.name, part.kind.clone(), Role::Part, part.description);
                param.required = part.required;
                param.default.clone_from(&part.default);
            }
        } else {
            let about = self.tool.options.about.unwrap_or(list.description);
            self.push(name.unwrap_or(list.name), element, Role::Item, about)
                .required = true;
        }
        Ok(())
    }

    fn remove(&mut self) -> Result<(), String> {
        self.change()?;
        let (options, (list, element)) = (&self.tool.options, self.elements()?);
        let (name, kind, about) = match (&element, options.r#match) {
            (Kind::Object(parts), Some(key)) => {
                let part = parts
                    .iter()
                    .find(|part| part.name == key)
                    .ok_or("unknown `match`")?;
                (key, part.kind.clone(), part.description)
            }
            (Kind::Object(_), None) => return Err("needs `match`".to_owned()),
            _ => (
                options.r#as.unwrap_or(list.name),
                element.clone(),
                list.description,
            ),
        };
        self.push(name, kind, Role::Key, options.about.unwrap_or(about))
            .required = true;
        Ok(())
    }

    fn increment(&mut self) -> Result<(), String> {
        self.change()?;
        let options = &self.tool.options;
        let field = self.entity.field(options.field.ok_or("needs `field`")?)?;
        let (kind, text) = match field.kind {
            Kind::Int(_) => (between(1, 1_000_000), "How many."),
            Kind::Num(_) => (
                Kind::Num(Range {
                    min: Some(0.0),
                    max: None,
                }),
                "How much; not negative.",
            ),
            _ => return Err(format!("`{}` is no number", field.name)),
        };
        if !options.by_one {
            let about = options.about.unwrap_or(text);
            self.push(options.r#as.unwrap_or("amount"), kind, Role::Amount, about)
                .required = true;
        }
        Ok(())
    }

    fn find(&mut self) -> Result<(), String> {
        for name in &self.tool.options.by {
            let (field, seed) = (self.entity.field(name)?, self.entity.seed.first());
            let known = seed
                .and_then(|record| record.get(*name)?.as_str())
                .map(str::to_owned);
            let param = self.push(
                field.name,
                field.kind.clone(),
                Role::Equals(field.name),
                field.description,
            );
            param.required = true;
            param.example = known;
        }
        Ok(())
    }

    fn filters(&mut self) -> Result<(), String> {
        for name in &self.tool.options.by {
            let field = self.entity.field(name)?;
            let (kind, says) = (field.kind.clone(), words(field.name));
            let (low, high) = (Role::AtLeast(field.name), Role::AtMost(field.name));
            match kind {
                Kind::Int(_) | Kind::Num(_) => {
                    let (min, max) = (self.name("min", name), self.name("max", name));
                    self.push(
                        min,
                        kind.clone(),
                        low,
                        format!("Smallest {says} to include."),
                    );
                    self.push(max, kind, high, format!("Greatest {says} to include."));
                }
                Kind::Date | Kind::Time => {
                    let (after, before) = (self.name(name, "after"), self.name(name, "before"));
                    self.push(
                        after,
                        kind.clone(),
                        low,
                        format!("Earliest {says}, in UTC."),
                    );
                    self.push(before, kind, high, format!("Latest {says}, in UTC."));
                }
                kind => {
                    let kind = match kind {
                        Kind::List(element) => Kind::clone(&element),
                        other => other,
                    };
                    let text = format!("Filter by {says}: {}", lower_first(field.description));
                    self.push(field.name, kind, Role::Equals(field.name), text);
                }
            }
        }
        Ok(())
    }

    fn list(&mut self) -> Result<(), String> {
        self.filters()?;
        let sort = &self.tool.options.sort;
        if !sort.is_empty() {
            for name in sort {
                self.entity.field(name)?;
            }
            let options = Kind::Choice(sort.iter().copied().collect());
            let name = self.name("sort", "by");
            self.push(name, options, Role::SortBy, "Field to sort by.");
            let order = Kind::Choice(["asc", "desc"].into());
            self.push("order", order, Role::Order, "Direction of sorting.")
                .default = Some(Value::from("asc"));
        }
        self.limit();
        let offset = between(0, u32::try_from(MAX_RECORDS).unwrap_or(u32::MAX));
        self.push("offset", offset, Role::Offset, "How many results to skip.")
            .default = Some(Value::from(0));
        Ok(())
    }

    fn limit(&mut self) {
        let about = "Most results to return.";
        self.push("limit", between(1, MAX_PAGE), Role::Limit, about)
            .default = Some(Value::from(DEFAULT_PAGE));
    }

    fn search(&mut self) -> Result<(), String> {
        let about = "Words to look for; the best matches come first.";
        self.push("query", Kind::Text, Role::Query, about).required = true;
        self.filters()?;
        self.limit();
        Ok(())
    }

    fn aggregate(&mut self) -> Result<(), String> {
        self.filters()?;
        let options = &self.tool.options;
        if self.tool.op == Op::Sum {
            let field = self.entity.field(options.field.ok_or("needs `field`")?)?;
            if !matches!(field.kind, Kind::Int(_) | Kind::Num(_)) {
                return Err(format!("`{}` is no number", field.name));
            }
        }
        for name in &options.group.0 {
            self.entity.field(name)?;
        }
        if options.group.0.len() > 1 {
            let choices = Kind::Choice(options.group.0.iter().copied().collect());
            let name = self.name("group", "by");
            self.push(
                name,
                choices,
                Role::GroupBy,
                "Split the result by this field.",
            );
        }
        Ok(())
    }

    /// Every field that the options name has to exist.
    fn check_options(&self) -> Result<(), String> {
        let options = &self.tool.options;
        let set = options.set.0.iter().map(|(name, _)| name);
        let from = options.from.0.iter().map(|(name, _)| name);
        let fixed = options.r#where.0.iter().map(|(name, _)| name);
        for name in set.chain(from).chain(fixed).chain(&options.cap) {
            self.entity.field(name)?;
        }
        Ok(())
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
