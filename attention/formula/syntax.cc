#include "attention/formula/syntax.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "options/name_suggestion.h"

namespace regard {
namespace {

using enum FormulaOp;
using Function = FormulaOpInfo<double>;

// Returns the predefined variable or function with this name, or null if the
// name is a parameter.
const Function* FindFunction(absl::string_view name) {
  for (const Function& function : FormulaOpInfos<double>()) {
    if (function.name() == name) return &function;
  }
  return nullptr;
}

struct FormulaToken {
  enum class Kind { kNumber, kName, kSymbol, kEnd };
  Kind kind = Kind::kEnd;
  TextRange range;
  double number = 0;

  size_t end() const { return range.begin + range.length; }
};

// A recursive descent parser. Each method parses one kind of expression, which
// begins at the next token, and returns the node of the expression. After a
// problem, the next token is always the end of the text.
class Parser {
 public:
  explicit Parser(FormulaGraph* formula)
      : formula_(*formula), text_(formula->text) {}

  std::optional<FormulaProblem> Parse() {
    if (text_.size() > kLongestFormula) {
      Fail({kLongestFormula, 1},
           absl::StrCat("a formula has at most ", kLongestFormula,
                        " characters; this one has ", text_.size()));
      return problem_;
    }
    Advance();
    if (AtEnd()) {
      Fail(token_.range,
           "the formula is empty; write one, such as q . k / sqrt(d)");
    }
    formula_.root = Sum();
    if (!AtEnd()) FailAtToken();
    return problem_;
  }

 private:
  using Kind = FormulaToken::Kind;

  // Increments the nesting depth. Fails if it is too large.
  void Open() {
    if (++depth_ <= kDeepestFormula) return;
    Fail(token_.range,
         absl::StrCat("the formula is nested deeper than ", kDeepestFormula));
  }
  void Close() { --depth_; }

  bool AtEnd() const { return token_.kind == Kind::kEnd; }
  bool At(char symbol) const {
    return token_.kind == Kind::kSymbol && text_[token_.range.begin] == symbol;
  }
  absl::string_view Text(const TextRange& range) const {
    return text_.substr(range.begin, range.length);
  }

  // Stores the problem if it is the first one. Returns a placeholder node.
  int Fail(TextRange range, std::string message) {
    if (!problem_.has_value()) problem_ = {range, std::move(message)};
    token_ = {.kind = Kind::kEnd, .range = {text_.size(), 1}};
    return Add(kNumber, {}, text_.size());
  }

  // Fails because the next token is not allowed at this position.
  int FailAtToken() {
    const TextRange range = token_.range;
    if (AtEnd()) {
      return Fail(range, "the formula ends where a value is expected");
    }
    if (At('<')) {
      return Fail(range, "'<' is allowed only in where(a < b, x, y)");
    }
    if (At(')')) return Fail(range, "this ')' closes nothing");
    if (At(']')) return Fail(range, "this ']' closes nothing");
    if (At('[')) {
      return Fail(range,
                  "an index is allowed only after the name of a parameter, as "
                  "in b[i - j]");
    }
    if (At(',')) return Fail(range, "a ',' is allowed only between operands");
    if (At('.') && absl::ascii_isdigit(CharacterAt(token_.end()))) {
      return Fail(range, "a number begins with a digit: write 0.5, not .5");
    }
    return Fail(range,
                absl::StrCat("a value is expected before '", Text(range), "'"));
  }

  char CharacterAt(size_t at) const {
    return at < text_.size() ? text_[at] : 0;
  }

  void Expect(char symbol, absl::string_view where) {
    if (At(symbol)) return Advance();
    Fail(token_.range,
         absl::StrCat("expected '", std::string(1, symbol), "' ", where,
                      AtEnd()
                          ? ", but the formula ends"
                          : absl::StrCat(", got '", Text(token_.range), "'")));
  }

  void Advance() {
    if (problem_.has_value()) return;
    last_end_ = token_.end();
    size_t at = last_end_;
    while (absl::ascii_isspace(CharacterAt(at))) ++at;
    token_ = {.kind = Kind::kEnd, .range = {at, 1}};
    if (at == text_.size()) return;
    const size_t begin = at;
    const char c = text_[at];
    if (absl::ascii_isdigit(c)) return ReadNumber(begin);
    if (absl::ascii_isalpha(c)) {
      while (absl::ascii_isalnum(CharacterAt(at)) || CharacterAt(at) == '_') {
        ++at;
      }
      token_ = {.kind = Kind::kName, .range = {begin, at - begin}};
      return;
    }
    token_.kind = Kind::kSymbol;
    if (absl::string_view("+-*/^.,()<[]").find(c) == absl::string_view::npos) {
      Fail({begin, 1}, absl::ascii_isascii(c)
                           ? absl::StrCat("a formula cannot contain '",
                                          Printable({&c, 1}), "'")
                           : "a formula must be ASCII: spell out the names of "
                             "Greek letters");
    }
  }

  void ReadNumber(size_t begin) {
    size_t at = begin;
    const auto digits = [&] {
      while (absl::ascii_isdigit(CharacterAt(at))) ++at;
    };
    digits();
    if (CharacterAt(at) == '.' && absl::ascii_isdigit(CharacterAt(at + 1))) {
      ++at;
      digits();
    }
    if (absl::ascii_tolower(CharacterAt(at)) == 'e') {
      size_t sign = CharacterAt(at + 1) == '-' || CharacterAt(at + 1) == '+';
      if (absl::ascii_isdigit(CharacterAt(at + 1 + sign))) {
        at += 1 + sign;
        digits();
      }
    }
    token_ = {.kind = Kind::kNumber, .range = {begin, at - begin}};
    const bool runs_on =
        absl::ascii_isalnum(CharacterAt(at)) || CharacterAt(at) == '_' ||
        (CharacterAt(at) == '.' && absl::ascii_isdigit(CharacterAt(at + 1)));
    if (runs_on) {
      Fail({begin, at + 1 - begin},
           absl::StrCat("'", Text({begin, at + 1 - begin}),
                        "' is not a number: write numbers as 12, 0.5 or 1e-3, "
                        "and products as 2 * q"));
    } else if (!absl::SimpleAtod(Text(token_.range), &token_.number) ||
               !(token_.number <= std::numeric_limits<float>::max())) {
      Fail(token_.range, "the number is too large");
    } else if (token_.number != 0 &&
               token_.number < std::numeric_limits<float>::min()) {
      Fail(token_.range, "the number is too small: it would become 0");
    }
  }

  int Add(FormulaOp op, std::vector<int> operands, size_t begin) {
    formula_.nodes.push_back({.op = op,
                              .operands = std::move(operands),
                              .range = {begin, last_end_ - begin}});
    return static_cast<int>(formula_.nodes.size()) - 1;
  }

  int AddNumber(double number, size_t begin) {
    const int node = Add(kNumber, {}, begin);
    formula_.nodes[node].number = number;
    return node;
  }

  int AddParameter(absl::string_view name, size_t begin) {
    auto& all = formula_.parameters;
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const auto& p) { return p.name == name; });
    const int node = Add(kParameter, {}, begin);
    formula_.nodes[node].parameter = static_cast<int>(found - all.begin());
    if (found == all.end()) all.push_back({.name = std::string(name)});
    return node;
  }

  int Sum() { return Chain('+', kAdd, '-', kSubtract, &Parser::Term); }
  int Term() { return Chain('*', kMultiply, '/', kDivide, &Parser::Unary); }

  // Parses operands that are separated by one of two left-associative
  // operators.
  int Chain(char symbol, FormulaOp op, char other_symbol, FormulaOp other_op,
            int (Parser::*operand)()) {
    const size_t begin = token_.range.begin;
    int left = (this->*operand)();
    while (At(symbol) || At(other_symbol)) {
      const FormulaOp found = At(symbol) ? op : other_op;
      Advance();
      const int right = (this->*operand)();
      left = Add(found, {left, right}, begin);
    }
    return left;
  }

  int Unary() {
    if (!At('-')) return Dot();
    Open();
    const size_t begin = token_.range.begin;
    Advance();
    const int x = Unary();
    Close();
    return Add(kNegate, {x}, begin);
  }

  int Dot() {
    const FormulaToken first = token_;
    const int left = Product();
    if (!At('.')) return left;
    const size_t dot = token_.range.begin;
    Advance();
    if (first.kind == Kind::kNumber && dot == first.end() &&
        (AtEnd() || token_.range.begin != dot + 1)) {
      return Fail(
          {first.range.begin, dot + 1 - first.range.begin},
          "a decimal point must have digits on both sides: write 2.0 or 2");
    }
    if (At('-')) {
      return Fail(token_.range,
                  "'.' binds tighter than '-': write "
                  "a . (-b) or -a . b");
    }
    const int right = Product();
    if (At('.')) {
      return Fail(token_.range,
                  "'.' does not chain, as a . b is a scalar: "
                  "write (a . b) * c");
    }
    return Add(kDot, {left, right}, first.range.begin);
  }

  int Product() {
    const FormulaToken first = token_;
    const int left = Power();
    const bool at_value =
        token_.kind == Kind::kNumber || token_.kind == Kind::kName || At('(');
    if (!at_value) return left;
    FormulaOp& op = formula_.nodes[left].op;
    if (first.kind != Kind::kName || op != kParameter) {
      const absl::string_view before =
          Text({first.range.begin, last_end_ - first.range.begin});
      return Fail(
          token_.range,
          absl::StrCat("an operator is missing after '", Printable(before),
                       "': only a parameter multiplies what follows it, as W "
                       "in 'W q'; write '*', or '.' for the inner product"));
    }
    op = kMatrix;
    Open();
    const int right = Product();
    Close();
    return Add(kProduct, {left, right}, first.range.begin);
  }

  int Power() {
    const size_t begin = token_.range.begin;
    const int base = Value();
    if (!At('^')) return base;
    Advance();
    const size_t exponent_begin = token_.range.begin;
    const double sign = At('-') ? -1 : 1;
    if (sign < 0) Advance();
    if (token_.kind != Kind::kNumber) {
      return Fail(token_.range,
                  "the exponent of '^' must be a number, as in x^2");
    }
    const double number = sign * token_.number;
    Advance();
    if (At('^')) {
      return Fail(token_.range, "'^' does not chain: write (x^2)^3");
    }
    const int exponent = AddNumber(number, exponent_begin);
    return Add(kPower, {base, exponent}, begin);
  }

  int Value() {
    const FormulaToken first = token_;
    const absl::string_view name = Text(first.range);
    if (first.kind == Kind::kNumber) {
      Advance();
      return AddNumber(first.number, first.range.begin);
    }
    if (At('(')) {
      Open();
      Advance();
      const int inner = Sum();
      Close();
      Expect(')', "to close the '(' before it");
      return inner;
    }
    if (first.kind != Kind::kName) return FailAtToken();
    const Function* function = FindFunction(name);
    Advance();
    const bool is_variable = function != nullptr && function->operands() == 0;
    if (At('(') && token_.range.begin == first.end()) {
      return function == nullptr || is_variable ? FailNoFunction(first.range)
                                                : Call(*function, first);
    }
    if (function == nullptr) {
      const int parameter = AddParameter(name, first.range.begin);
      return At('[') ? Element(parameter) : parameter;
    }
    if (is_variable) return Add(function->op, {}, first.range.begin);
    return Fail(
        first.range,
        absl::StrCat("'", name,
                     "' is a function: '(' must follow it directly, as in ",
                     name, "(x)"));
  }

  // Parses the index that follows `parameter`, and returns the element.
  int Element(int parameter) {
    Open();
    formula_.nodes[parameter].op = kTable;
    Advance();
    if (At(']')) {
      return Fail(token_.range, "an index is expected, as in b[i - j]");
    }
    const int index = Sum();
    Close();
    Expect(']', "after an index, as in b[i - j]");
    return Add(kElement, {parameter, index},
               formula_.nodes[parameter].range.begin);
  }

  int FailNoFunction(const TextRange& range) {
    const absl::string_view name = Text(range);
    std::vector<std::string> known;
    for (const Function& function : FormulaOpInfos<double>()) {
      const std::string other(function.name());
      if (function.operands() > 0 && absl::ascii_isalpha(other.c_str()[0])) {
        known.push_back(other);
      }
    }
    std::string suggestion = SuggestName(name, known);
    if (suggestion.empty() && FindFunction(name) == nullptr) {
      suggestion = absl::StrCat(
          "; for a product, put a space after the parameter: ", name, " (...)");
    }
    return Fail(range, absl::StrCat("there is no function '", Printable(name),
                                    "'", suggestion));
  }

  int Call(const Function& function, const FormulaToken& first) {
    Open();
    const bool compares = function.op == kWhere;
    const std::string form =
        compares ? absl::Substitute(function.form, "a", "b", "x", "y")
                 : absl::Substitute(function.form, "x", "y");
    Advance();
    std::vector<int> operands;
    for (int i = 0; i < function.operands(); ++i) {
      if (i > 0) Expect(compares && i == 1 ? '<' : ',', "in " + form);
      operands.push_back(Sum());
    }
    Expect(')', "at the end of " + form);
    Close();
    return Add(function.op, std::move(operands), first.range.begin);
  }

  FormulaGraph& formula_;
  absl::string_view text_;
  FormulaToken token_;   // the next token
  size_t last_end_ = 0;  // end of the previous token
  int depth_ = 0;
  std::optional<FormulaProblem> problem_;
};

}  // namespace

std::optional<FormulaProblem> ParseFormula(absl::string_view text,
                                           FormulaGraph* formula) {
  *formula = {.text = std::string(text)};
  return Parser(formula).Parse();
}

}  // namespace regard
