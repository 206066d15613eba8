// What DuckDB's C API lacks: the CRAWL statement, a second connection for a caller, and the state
// of
// the caller's session.
//
// This file is compiled against the headers of exactly one DuckDB release, embedded in the
// extension,
// and loaded only into that release. Its symbols come from the host. Nothing here throws into Rust,
// and nothing knows what a crawl is: the statement becomes a call of the table function
// `curtsy_statement`, which Rust registers.

#include "duckdb.hpp"
#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry/table_function_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry_retriever.hpp"
#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/capi/capi_internal.hpp"
#include "duckdb/main/capi/capi_internal_table.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/parallel/async_result.hpp"
#include "duckdb/parser/parser_extension.hpp"
#include "duckdb/parser/qualified_name.hpp"
#include "duckdb/planner/binder.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

using namespace duckdb;

namespace {

const char *const FUNCTION = "curtsy_statement";
const char *const FORM = "\nthe whole form: CRAWL (SELECT url FROM …) INTO pages [WITH (option value, …)]";

//===--------------------------------------------------------------------===//
// The statement
//===--------------------------------------------------------------------===//

struct Crawl : public ParserExtensionParseData {
	string query, target;
	vector<string> keys, values;

	unique_ptr<ParserExtensionParseData> Copy() const override {
		return make_uniq<Crawl>(*this);
	}
	string ToString() const override {
		return "CRAWL (" + query + ") INTO " + target;
	}
};

// The error for a statement that begins with CRAWL and is not one.
struct Unexpected {
	string text;
};

// `"a ""quoted"" word"` without its quotes; other text as it is.
string Unquoted(const string &text, char quote) {
	if (text.size() < 2 || text.front() != quote || text.back() != quote) {
		return text;
	}
	string plain;
	for (idx_t i = 1; i + 1 < text.size(); i++) {
		plain += text[i];
		if (text[i] == quote) {
			i++;
		}
	}
	return plain;
}

// Reads one statement from the front of the tokens. DuckDB has removed blanks and comments;
// literals are as written.
class Reader {
public:
	explicit Reader(const vector<SimpleToken> &tokens) : tokens(tokens) {
	}

	unique_ptr<Crawl> Read() {
		auto crawl = make_uniq<Crawl>();
		at = 1; // CRAWL itself
		ReadQuery(*crawl);
		if (!Word("into")) {
			throw Expected("INTO after the query");
		}
		at++;
		ReadTarget(*crawl);
		if (Word("with")) {
			at++;
			ReadOptions(*crawl);
		} else if (!AtEnd()) {
			throw Expected("WITH or the end of the statement after the table's name");
		}
		if (!AtEnd()) {
			throw Expected("the end of the statement after WITH (…)");
		}
		if (at < tokens.size() && tokens[at].type == TokenType::TERMINATOR) {
			at++;
		}
		return crawl;
	}

	idx_t Taken() const {
		return at;
	}

private:
	// Everything up to the parenthesis that closes the first one, with blanks between tokens.
	void ReadQuery(Crawl &crawl) {
		if (!Sign("(")) {
			throw Expected("a query in parentheses after CRAWL");
		}
		at++;
		for (idx_t depth = 1; depth > 0; at++) {
			if (AtEnd()) {
				throw Expected("`)` that closes the query");
			}
			depth += Sign("(");
			depth -= Sign(")");
			if (depth > 0) {
				Append(crawl.query);
			}
		}
		if (crawl.query.empty()) {
			throw Unexpected {"expected a query between the parentheses of CRAWL ()"};
		}
	}

	void Append(string &query) const {
		auto &token = tokens[at];
		if (!query.empty() && tokens[at - 1].text != "$") {
			// Literals on two lines are one in SQL; with a blank between them they would be an
			// error.
			bool literals =
			    token.type == TokenType::STRING_LITERAL && tokens[at - 1].type == TokenType::STRING_LITERAL;
			query += literals ? '\n' : ' ';
		}
		query += token.text;
	}

	void ReadTarget(Crawl &crawl) {
		for (idx_t parts = 0;; parts++) {
			if (!IsWord() || Word("with")) {
				throw Expected(parts == 0 ? "the name of a table after INTO" : "a name after `.`");
			}
			crawl.target += tokens[at++].text;
			if (!Sign(".")) {
				return;
			}
			crawl.target += tokens[at++].text;
		}
	}

	void ReadOptions(Crawl &crawl) {
		if (!Sign("(")) {
			throw Expected("`(` after WITH");
		}
		do {
			at++;
			if (!IsWord()) {
				throw Expected("the name of an option");
			}
			auto key = StringUtil::Lower(Unquoted(tokens[at++].text, '"'));
			for (auto &known : crawl.keys) {
				if (known == key) {
					throw Unexpected {"the option `" + key + "` is given twice"};
				}
			}
			if (Sign("=") || Sign(":=") || Sign("=>")) {
				at++;
			}
			crawl.values.push_back(ReadValue(key));
			crawl.keys.push_back(std::move(key));
		} while (Sign(","));
		if (!Sign(")")) {
			throw Expected("`,` or `)` after the value of `" + crawl.keys.back() +
			               "` (a value of several words goes in quotes)");
		}
		at++;
	}

	string ReadValue(const string &key) {
		if (Sign("[")) {
			return ReadList(key);
		}
		string sign;
		if (Sign("-") || Sign("+")) {
			sign = tokens[at++].text;
		}
		bool number = !AtEnd() && tokens[at].type == TokenType::NUMBER_LITERAL;
		bool literal = !AtEnd() && tokens[at].type == TokenType::STRING_LITERAL;
		if (!number && (!sign.empty() || (!literal && !IsWord()))) {
			throw Expected("a string, a number, true, false, a word or a list for `" + key + "`");
		}
		auto &text = tokens[at++].text;
		if (number) {
			return sign == "-" ? sign + text : text;
		}
		return literal ? Unquoted(text, '\'') : Unquoted(text, '"');
	}

	// A list stays text, as `['a', 'b']`: the reader of the option knows its form.
	string ReadList(const string &key) {
		string list;
		idx_t depth = 0;
		do {
			if (AtEnd()) {
				throw Expected("`]` that closes the list for `" + key + "`");
			}
			depth += Sign("[");
			depth -= Sign("]");
			list += tokens[at++].text;
		} while (depth > 0);
		return list;
	}

	bool AtEnd() const {
		return at >= tokens.size() || tokens[at].type == TokenType::TERMINATOR ||
		       tokens[at].type == TokenType::END_OF_INPUT;
	}
	// Quoted tokens keep their quotes, so only a sign looks like a sign. (The type does not help:
	// to DuckDB a final `.` is a number.)
	bool Sign(const char *sign) const {
		return !AtEnd() && tokens[at].text == sign;
	}
	bool IsWord() const {
		return !AtEnd() && (tokens[at].type == TokenType::IDENTIFIER || tokens[at].type == TokenType::KEYWORD);
	}
	bool Word(const char *word) const {
		return IsWord() && StringUtil::CIEquals(tokens[at].text, word);
	}
	Unexpected Expected(const string &what) const {
		auto found = AtEnd() ? string("the end") : "`" + tokens[at].text + "`";
		return Unexpected {"expected " + what + ", found " + found};
	}

	const vector<SimpleToken> &tokens;
	idx_t at = 0;
};

// Called for every statement that DuckDB cannot parse. Other statements are left to DuckDB.
ParserExtensionParseResult Parse(ParserExtensionInfo *, const vector<SimpleToken> &tokens) {
	if (tokens.empty() || !StringUtil::CIEquals(tokens[0].text, "crawl")) {
		return ParserExtensionParseResult();
	}
	try {
		Reader reader(tokens);
		ParserExtensionParseResult result(reader.Read());
		result.consumed_tokens = NumericCast<int64_t>(reader.Taken());
		return result;
	} catch (const Unexpected &unexpected) {
		ParserExtensionParseResult result(unexpected.text + FORM);
		result.consumed_tokens = -1;
		return result;
	}
}

TableFunctionCatalogEntry &Registered(ClientContext &context, const string &name) {
	QualifiedName full(Identifier::SystemCatalog(), Identifier::DefaultSchema(), Identifier(name));
	return Catalog::GetEntry<TableFunctionCatalogEntry>(context, full);
}

Value Texts(const vector<string> &texts) {
	vector<Value> values(texts.begin(), texts.end());
	return Value::LIST(LogicalType::VARCHAR, std::move(values));
}

ParserExtensionPlanResult Plan(ParserExtensionInfo *, ClientContext &context,
                               unique_ptr<ParserExtensionParseData> data) {
	auto &crawl = data->Cast<Crawl>();
	ParserExtensionPlanResult result;
	result.function = *Registered(context, FUNCTION).functions.GetFunctionByOffset(0);
	result.parameters = {Value(crawl.query), Value(crawl.target), Texts(crawl.keys), Texts(crawl.values)};
	result.requires_valid_transaction = true;
	result.return_type = StatementReturnType::QUERY_RESULT;
	return result;
}

//===--------------------------------------------------------------------===//
// Progress, and calls without rows yet
//===--------------------------------------------------------------------===//

// Rust's callbacks for one call, by its bind data.
struct Pulse {
	// The progress in percent; negative if unknown.
	double (*progress)(const void *bound);
	// Permits the call to return without rows instead of waiting.
	void (*may_wait)(const void *bound);
	// For how many milliseconds there are no rows yet; 0 means the end.
	uint64_t (*waits)(const void *bound);
} pulse;

// How the C API fills a chunk; the same for all of its functions.
table_function_t fill = nullptr;

const void *BoundOf(const FunctionData *bind_data) {
	return bind_data ? bind_data->Cast<CTableBindData>().bind_data : nullptr;
}

double Progress(ClientContext &, const FunctionData *bind_data, const GlobalTableFunctionState *) {
	auto bound = BoundOf(bind_data);
	return bound ? pulse.progress(bound) : -1.0;
}

struct Wait : public AsyncTask {
	explicit Wait(uint64_t milliseconds) : milliseconds(milliseconds) {
	}
	void Execute() override {
		std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
	}
	uint64_t milliseconds;
};

// In the C API, no rows mean the end. DuckDB itself can be told otherwise: it gets its thread back,
// draws the progress bar and notices an interrupt.
void Fill(ClientContext &context, TableFunctionInput &input, DataChunk &output) {
	auto bound = BoundOf(input.bind_data.get());
	while (!context.IsInterrupted()) {
		pulse.may_wait(bound);
		fill(context, input, output);
		auto waits = pulse.waits(bound);
		if (output.size() > 0 || waits == 0) {
			return;
		}
		vector<unique_ptr<AsyncTask>> tasks;
		tasks.push_back(make_uniq<Wait>(waits));
		AsyncResult blocked(std::move(tasks));
		if (input.HandleBlocked(blocked)) {
			return;
		}
	}
	throw InterruptException();
}

//===--------------------------------------------------------------------===//
// The caller's session
//===--------------------------------------------------------------------===//

// A caller may close its connection while its crawl still ends, so nothing here keeps a context
// alive, or relies on one.
typedef weak_ptr<ClientContext> Caller;

shared_ptr<ClientContext> Alive(void *caller) {
	auto context = static_cast<Caller *>(caller)->lock();
	if (!context) {
		throw ConnectionException("the connection that asked is closed");
	}
	return context;
}

template <class F>
int Guarded(char *error, size_t room, F &&work) {
	try {
		work();
		return 0;
	} catch (const std::exception &thrown) {
		snprintf(error, room, "%s", ErrorData(thrown).RawMessage().c_str());
	} catch (...) {
		snprintf(error, room, "DuckDB threw something unknown");
	}
	return 1;
}

// Where CREATE TABLE would create a new name: DuckDB's own rule (Binder::SearchSchema), which is
// private.
QualifiedName PlaceFor(ClientContext &context, const QualifiedName &given) {
	CatalogEntryRetriever retriever(context);
	auto &search_path = *ClientData::Get(context).catalog_search_path;
	auto path = Binder::ResolveCatalog(retriever, given, false).Path();
	auto catalog = path.front();
	auto schema = path.size() > 2 ? path[path.size() - 2] : Identifier();
	if (catalog.empty() && schema.empty()) {
		catalog = search_path.GetDefault().GetCatalog();
		schema = search_path.GetDefault().GetSchema();
	} else if (schema.empty()) {
		schema = search_path.GetDefaultSchema(catalog);
	} else if (catalog.empty()) {
		catalog = search_path.ResolveCatalog(schema);
	}
	if (catalog.empty()) {
		catalog = DatabaseManager::GetDefaultDatabase(context);
	}
	return QualifiedName(catalog, schema, path.back());
}

//===--------------------------------------------------------------------===//
// The functions for Rust
//===--------------------------------------------------------------------===//

// Adds the statement to a database, and the callbacks to the named table functions.
int Attach(duckdb_database database, const char *const *functions, size_t count, const Pulse *callbacks, char *error,
           size_t room) {
	return Guarded(error, room, [&] {
		auto &instance = *reinterpret_cast<DatabaseWrapper *>(database)->database->instance;
		pulse = *callbacks;
		Connection connection(instance);
		connection.context->RunFunctionInTransaction([&] {
			for (size_t i = 0; i < count; i++) {
				auto &entry = Registered(*connection.context, functions[i]);
				entry.functions.ApplyToFunctions([](TableFunction &function) {
					fill = function.function == Fill ? fill : function.function;
					function.function = Fill;
					function.table_scan_progress = Progress;
				});
			}
		});
		ParserExtension extension;
		extension.parse_function = Parse;
		extension.plan_function = Plan;
		ParserExtension::Register(DBConfig::GetConfig(instance), extension);
	});
}

// A handle of the session that a function was called in; `LetGo` frees it.
void *Hold(duckdb_client_context context) {
	try {
		return new Caller(reinterpret_cast<CClientContextWrapper *>(context)->context.shared_from_this());
	} catch (...) {
		return nullptr;
	}
}

void LetGo(void *caller) {
	delete static_cast<Caller *>(caller);
}

// Whether the caller has interrupted its query, or is gone.
bool Interrupted(void *caller) {
	auto context = static_cast<Caller *>(caller)->lock();
	return !context || context->IsInterrupted();
}

// Whether the caller is between BEGIN and COMMIT.
bool InTransaction(void *caller) {
	auto context = static_cast<Caller *>(caller)->lock();
	return context && !context->transaction.IsAutoCommit();
}

// Opens a connection to the caller's database that resolves names as the caller does.
// `duckdb_disconnect` closes it.
duckdb_connection Connect(void *caller, char *error, size_t room) {
	duckdb_connection result = nullptr;
	Guarded(error, room, [&] {
		auto context = Alive(caller);
		auto connection = make_uniq<Connection>(DatabaseInstance::GetDatabase(*context));
		auto &theirs = ClientData::Get(*context);
		auto &ours = ClientData::Get(*connection->context);
		ours.default_database = theirs.default_database;
		// The same temporary tables and views: the seeds may be in one.
		ours.temporary_objects = theirs.temporary_objects;
		auto paths = theirs.catalog_search_path->GetSetPaths();
		for (auto &path : paths) {
			if (path.GetCatalog().empty()) {
				path.SetCatalog(DatabaseManager::GetDefaultDatabase(*context));
			}
		}
		ours.catalog_search_path->Set(std::move(paths), CatalogSetPathType::SET_DIRECTLY);
		ClientConfig::GetConfig(*connection->context).user_variables = ClientConfig::GetConfig(*context).user_variables;
		result = reinterpret_cast<duckdb_connection>(connection.release());
	});
	return result;
}

struct Target {
	char *catalog;
	char *schema;
	char *table;
	bool exists;
	bool view;
	bool temporary;
	bool read_only;
};

// Resolves the name of a table for the caller. The table need not exist. `FreeTarget` frees the
// names.
int Resolve(void *caller, const char *name, Target *target, char *error, size_t room) {
	return Guarded(error, room, [&] {
		auto held = Alive(caller);
		auto &context = *held;
		QualifiedName given;
		string problem;
		if (!QualifiedName::TryParse(name, given, problem)) {
			throw ParserException(problem);
		}
		if (given.Path().size() > 3) {
			throw BinderException("expected table, schema.table or database.schema.table, found %s", given.ToString());
		}
		CatalogEntryRetriever retriever(context);
		EntryLookupInfo lookup(CatalogType::TABLE_ENTRY, Binder::BindTableName(retriever, given));
		auto entry = Catalog::GetEntry(context, lookup, OnEntryNotFound::RETURN_NULL);
		auto place = entry ? QualifiedName(entry->ParentCatalog().GetName(), entry->ParentSchema().name, entry->name)
		                   : PlaceFor(context, given);
		auto &catalog = Catalog::GetCatalog(context, place.Catalog());
		if (!entry) {
			catalog.GetSchema(context, place.Schema()); // throws if there is none
		}
		target->exists = entry != nullptr;
		target->view = entry && entry->type == CatalogType::VIEW_ENTRY;
		target->temporary = catalog.IsTemporaryCatalog();
		target->read_only = catalog.GetAttached().IsReadOnly();
		target->catalog = strdup(place.Catalog().c_str());
		target->schema = strdup(place.Schema().c_str());
		target->table = strdup(place.Name().c_str());
	});
}

void FreeTarget(Target *target) {
	free(target->catalog);
	free(target->schema);
	free(target->table);
}

// The functions above, in the order of `Shim` in src/duck/shim.rs.
const struct {
	decltype(&Attach) attach;
	decltype(&Hold) hold;
	decltype(&LetGo) let_go;
	decltype(&Interrupted) interrupted;
	decltype(&InTransaction) in_transaction;
	decltype(&Connect) connect;
	decltype(&Resolve) resolve;
	decltype(&FreeTarget) free_target;
} FUNCTIONS = {Attach, Hold, LetGo, Interrupted, InTransaction, Connect, Resolve, FreeTarget};

} // namespace

extern "C" __attribute__((visibility("default"))) const void *curtsy_shim() {
	return &FUNCTIONS;
}
