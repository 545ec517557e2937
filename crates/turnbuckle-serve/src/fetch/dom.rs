//! HTML as a tree, with bounds on what a page can make of it.
//!
//! A parser of HTML repeats elements that a page left open, at each paragraph again: a small page can become a
//! tree without end. So a page is parsed in small pieces, and the tree is counted between them.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// The nodes of a page.
const MAX_NODES: usize = 200_000;

/// The elements of a page that a parser may repeat, such as `<b>` and `<a>`.
const MAX_REPEATABLE: usize = 20_000;

/// The bytes that are parsed before the tree is counted again.
const PIECE_BYTES: usize = 64;

/// The levels of a page: what reads the tree calls itself for each.
const MAX_DEPTH: usize = 200;

/// The time for parsing a page: for some pages it grows with the square of their size.
const PARSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The names of elements that a parser may repeat.
const REPEATABLE: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Parses a page.
///
/// # Errors
/// When it has too many elements, is nested too deep, or takes too long.
pub(super) fn parse(html: &str) -> Result<Handle, String> {
    let count = Rc::new(Count::default());
    let sink = CountedDom {
        dom: RcDom::default(),
        count: count.clone(),
    };
    let started = Instant::now();
    let mut parser = parse_document(sink, ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let mut end = PIECE_BYTES.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        parser.process(StrTendril::from_slice(piece));
        rest = after;
        if count.nodes.get() > MAX_NODES || count.repeatable.get() > MAX_REPEATABLE {
            return Err("it has too many elements".to_owned());
        }
        if started.elapsed() > PARSE_TIMEOUT {
            return Err("it takes too long to read".to_owned());
        }
    }
    let document = parser.finish().dom.document;
    match is_shallow(&document) {
        true => Ok(document),
        false => Err(format!(
            "its elements are nested more than {MAX_DEPTH} levels deep"
        )),
    }
}

/// Returns whether a tree has few levels. Calls itself for none.
fn is_shallow(root: &Handle) -> bool {
    let mut open = vec![(root.clone(), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return false;
        }
        let children = node.children.borrow();
        open.extend(children.iter().map(|child| (child.clone(), depth + 1)));
    }
    true
}

/// Finds the elements with a name that are in no other one of this name.
pub(super) fn find_outermost(root: &Handle, name: &str) -> Vec<Handle> {
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(node) = open.pop() {
        if element_name(&node) == Some(name) {
            found.push(node);
        } else {
            open.extend(node.children.borrow().iter().rev().cloned());
        }
    }
    found
}

/// Counts the characters of a part that are no white space, without those of some elements.
pub(super) fn text_length(root: &Handle, skipped: &[&str]) -> usize {
    let mut length = 0;
    let mut open = vec![root.clone()];
    while let Some(node) = open.pop() {
        if let NodeData::Text { contents } = &node.data {
            let contents = contents.borrow();
            let shown = contents.chars().filter(|char| !char.is_whitespace());
            length += shown.count();
        }
        if element_name(&node).is_none_or(|name| !skipped.contains(&name)) {
            open.extend(node.children.borrow().iter().cloned());
        }
    }
    length
}

fn element_name(node: &Handle) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

/// The elements that were made.
#[derive(Default)]
struct Count {
    nodes: Cell<usize>,
    repeatable: Cell<usize>,
}

impl Count {
    fn add(&self, is_repeatable: bool) {
        self.nodes.set(self.nodes.get() + 1);
        self.repeatable
            .set(self.repeatable.get() + usize::from(is_repeatable));
    }
}

/// A tree that counts its elements, and keeps no error of the page.
struct CountedDom {
    dom: RcDom,
    count: Rc<Count>,
}

impl TreeSink for CountedDom {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        self.dom.get_document()
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        self.dom.elem_name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.count.add(REPEATABLE.contains(&&*name.local));
        self.dom.create_element(name, attrs, flags)
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        self.count.add(false);
        self.dom.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        self.dom.create_pi(target, data)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.dom.append(parent, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        previous: &Handle,
        child: NodeOrText<Handle>,
    ) {
        self.dom
            .append_based_on_parent_node(element, previous, child);
    }

    fn append_doctype_to_document(
        &self,
        name: StrTendril,
        public_id: StrTendril,
        system_id: StrTendril,
    ) {
        self.dom
            .append_doctype_to_document(name, public_id, system_id);
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        self.dom.get_template_contents(target)
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        self.dom.same_node(one, other)
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.dom.set_quirks_mode(mode);
    }

    fn append_before_sibling(&self, sibling: &Handle, node: NodeOrText<Handle>) {
        self.dom.append_before_sibling(sibling, node);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        self.dom.add_attrs_if_missing(target, attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.dom.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        self.dom.reparent_children(node, new_parent);
    }

    fn is_mathml_annotation_xml_integration_point(&self, target: &Handle) -> bool {
        self.dom.is_mathml_annotation_xml_integration_point(target)
    }
}
