//! Items that providers list and find: books on a shelf.

use turnbuckle::prelude::*;
use turnbuckle::types::Schema;

/// The number of books.
pub(crate) const BOOKS: usize = 6;

/// Books stand for the rows of a database.
struct Shelf;

impl Shelf {
    /// Returns the numbers of the books on one page, and the cursor of the next page.
    async fn page(&self, request: ListRequest) -> Result<ListPage<usize>> {
        tokio::task::yield_now().await;
        let first: usize = request.cursor.as_deref().map_or(Ok(0), str::parse)?;
        let next = (first + request.limit).min(BOOKS);
        Ok(ListPage::new(first..next).next_cursor((next < BOOKS).then(|| next.to_string())))
    }

    /// Returns the number in a name, if there is such a book.
    async fn number(&self, name: &str, prefix: &str) -> Option<usize> {
        tokio::task::yield_now().await;
        let number = name.strip_prefix(prefix)?.parse().ok()?;
        (number < BOOKS).then_some(number)
    }
}

pub(super) fn group() -> Group {
    Group::new()
        .state(Shelf)
        .provider(Provider::tools("loans").list(list_loans).find(find_loan))
        .provider(
            Provider::prompts("blurbs")
                .list(list_blurbs)
                .find(find_blurb),
        )
        .provider(
            Provider::resources("books")
                .list(list_books)
                .find(find_book),
        )
}

fn map<T>(page: ListPage<usize>, item: fn(usize) -> T) -> ListPage<T> {
    ListPage::new(page.items.into_iter().map(item)).next_cursor(page.next_cursor)
}

fn loan(number: usize) -> Tool {
    let days = r#"{"type":"object","properties":{"days":{"type":"integer","maximum":30}}}"#;
    let schema: Schema = days.parse().unwrap();
    Tool::builder(format!("borrow-{number}"))
        .input_schema(schema)
        .handler(move |RawArguments(days)| format!("book {number} for {}", days.as_str()))
}

async fn list_loans(request: ListRequest, shelf: State<Shelf>) -> Result<ListPage<Tool>> {
    Ok(map(shelf.page(request).await?, loan))
}

async fn find_loan(ItemName(name): ItemName, shelf: State<Shelf>) -> Option<Tool> {
    shelf.number(&name, "borrow-").await.map(loan)
}

fn blurb(number: usize) -> Prompt {
    Prompt::builder(format!("blurb-{number}")).handler(move || format!("Praise book {number}."))
}

async fn list_blurbs(request: ListRequest, shelf: State<Shelf>) -> Result<ListPage<Prompt>> {
    Ok(map(shelf.page(request).await?, blurb))
}

async fn find_blurb(ItemName(name): ItemName, shelf: State<Shelf>) -> Option<Prompt> {
    shelf.number(&name, "blurb-").await.map(blurb)
}

fn book(number: usize) -> Resource {
    Resource::builder(format!("shelf://{number}"), format!("book {number}"))
        .handler(move || format!("Chapter one of {number}"))
}

async fn list_books(request: ListRequest, shelf: State<Shelf>) -> Result<ListPage<Resource>> {
    Ok(map(shelf.page(request).await?, book))
}

async fn find_book(ItemName(uri): ItemName, shelf: State<Shelf>) -> Option<Resource> {
    shelf.number(&uri, "shelf://").await.map(book)
}
