#include "attention/formula/syntax.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nn/name_suggestion.h"

namespace regard {
namespace {

struct Function {
  const char* name;
  FormulaOp op;
  int operands;
};

constexpr Function kFunctions[] = {
    {"tanh", FormulaOp::kTanh, 1},   {"sigmoid", FormulaOp::kSigmoid, 1},
    {"relu", FormulaOp::kRelu, 1},   {"softplus", FormulaOp::kSoftplus, 1},
    {"exp", FormulaOp::kExp, 1},     {"log", FormulaOp::kLog, 1},
    {"abs", FormulaOp::kAbs, 1},     {"sqrt", FormulaOp::kSqrt, 1},
    {"cos", FormulaOp::kCos, 1},     {"sin", FormulaOp::kSin, 1},
    {"sum", FormulaOp::kSum, 1},     {"norm", FormulaOp::kNorm, 1},
    {"min", FormulaOp::kMin, 2},     {"max", FormulaOp::kMax, 2},
    {"where", FormulaOp::kWhere, 4},
};
constexpr absl::string_view kVariables[] = {"q", "k",  "i", "j",
                                            "d", "dq", "dk"};

const Function* FindFunction(absl::string_view name) {
  for (const Function& function : kFunctions) {
    if (function.name == name) return &function;
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

// Every method that returns a node returns -1 once there is a problem.
class Parser {
 public:
  explicit Parser(FormulaTree* formula)
      : text_(formula->text), nodes_(formula->nodes) {}

  std::optional<TextProblem> Parse() {
    if (text_.size() > kLongestFormula) {
      Fail({kLongestFormula, 1},
           absl::StrCat("a formula has at most ", kLongestFormula,
                        " characters, this one ", text_.size()));
      return problem_;
    }
    Advance();
    if (AtEnd()) {
      Fail(token_.range, "an empty formula; write one such as q . k / sqrt(d)");
    }
    Sum();
    if (!failed() && !AtEnd()) FailAtToken();
    return problem_;
  }

 private:
  using Kind = FormulaToken::Kind;

  // Counts what is open; Close() is due only where nothing failed.
  void Open() {
    if (++depth_ <= kDeepestFormula) return;
    Fail(token_.range, absl::StrCat("nested deeper than ", kDeepestFormula));
  }
  void Close() { --depth_; }

  bool failed() const { return problem_.has_value(); }
  bool AtEnd() const { return token_.kind == Kind::kEnd; }
  bool At(char symbol) const {
    return token_.kind == Kind::kSymbol && text_[token_.range.begin] == symbol;
  }
  absl::string_view Text(const TextRange& range) const {
    return text_.substr(range.begin, range.length);
  }

  // The first problem counts. Nothing is read after it.
  int Fail(TextRange range, std::string message) {
    if (!failed()) problem_ = {range, std::move(message)};
    token_ = {.kind = Kind::kEnd, .range = {text_.size(), 1}};
    return -1;
  }

  // What stands there cannot.
  int FailAtToken() {
    const TextRange range = token_.range;
    if (AtEnd()) return Fail(range, "the formula ends where a value is due");
    if (At('<')) {
      return Fail(range, "'<' stands only in where(a < b, x, y)");
    }
    if (At(')')) return Fail(range, "this ')' closes nothing");
    if (At(',')) return Fail(range, "a ',' stands only between operands");
    if (At('.') && absl::ascii_isdigit(CharacterAt(token_.end()))) {
      return Fail(range, "a number begins with a digit: write 0.5, not .5");
    }
    return Fail(range,
                absl::StrCat("a value is due before '", Text(range), "'"));
  }

  char CharacterAt(size_t at) const {
    return at < text_.size() ? text_[at] : 0;
  }

  bool Expect(char symbol, absl::string_view where) {
    if (failed()) return false;
    if (At(symbol)) {
      Advance();
      return !failed();
    }
    Fail(token_.range,
         absl::StrCat("expected '", std::string(1, symbol), "' ", where,
                      AtEnd()
                          ? ", but the formula ends"
                          : absl::StrCat(", got '", Text(token_.range), "'")));
    return false;
  }

  void Advance() {
    if (failed()) return;
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
    if (absl::string_view("+-*/^.,()<").find(c) == absl::string_view::npos) {
      Fail({begin, 1},
           absl::ascii_isascii(c)
               ? absl::StrCat("a formula has no '", Printable({&c, 1}), "'")
               : "a formula is ASCII: write names of Greek letters out");
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
                        "' begins like a number but is none: numbers are 12, "
                        "0.5 and 1e-3, and a product is written 2 * q"));
    } else if (!absl::SimpleAtod(Text(token_.range), &token_.number) ||
               !std::isfinite(token_.number)) {
      Fail(token_.range, "the number is too large");
    }
  }

  int Add(FormulaOp op, std::vector<int> operands, size_t begin,
          double number = 0) {
    if (failed()) return -1;
    nodes_.push_back({.op = op,
                      .operands = std::move(operands),
                      .range = {begin, last_end_ - begin},
                      .number = number});
    return static_cast<int>(nodes_.size()) - 1;
  }

  int Sum() {
    const size_t begin = token_.range.begin;
    int left = Term();
    while (At('+') || At('-')) {
      const FormulaOp op = At('+') ? FormulaOp::kAdd : FormulaOp::kSubtract;
      Advance();
      const int right = Term();
      left = Add(op, {left, right}, begin);
    }
    return left;
  }

  int Term() {
    const size_t begin = token_.range.begin;
    int left = Unary();
    while (At('*') || At('/')) {
      const FormulaOp op = At('*') ? FormulaOp::kMultiply : FormulaOp::kDivide;
      Advance();
      const int right = Unary();
      left = Add(op, {left, right}, begin);
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
    return Add(FormulaOp::kNegate, {x}, begin);
  }

  int Dot() {
    const FormulaToken first = token_;
    const int left = Product();
    if (!At('.')) return left;
    const size_t dot = token_.range.begin;
    Advance();
    if (first.kind == Kind::kNumber && dot == first.end() &&
        (AtEnd() || token_.range.begin != dot + 1)) {
      return Fail({first.range.begin, dot + 1 - first.range.begin},
                  "a decimal point has digits on both sides: write 2.0 or 2");
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
    return Add(FormulaOp::kDot, {left, right}, first.range.begin);
  }

  // Whether a value begins here, so that no operator stands before it.
  bool AtValue() const {
    return token_.kind == Kind::kNumber || token_.kind == Kind::kName ||
           At('(');
  }

  int Product() {
    const FormulaToken first = token_;
    const int left = Power();
    if (failed() || !AtValue()) return left;
    const absl::string_view written = Text(first.range);
    const bool is_parameter = first.kind == Kind::kName &&
                              nodes_[left].op == FormulaOp::kName &&
                              !IsReservedInFormulas(written);
    if (!is_parameter) {
      const absl::string_view before =
          Text({first.range.begin, last_end_ - first.range.begin});
      return Fail(
          token_.range,
          absl::StrCat("an operator is missing after '", Printable(before),
                       "': only a parameter multiplies what follows it, as W "
                       "in 'W q'; write '*', or '.' for the inner product"));
    }
    Open();
    const int right = Product();
    Close();
    return Add(FormulaOp::kProduct, {left, right}, first.range.begin);
  }

  int Power() {
    const size_t begin = token_.range.begin;
    const int base = Value();
    if (!At('^')) return base;
    Advance();
    const double sign = At('-') ? -1 : 1;
    if (sign < 0) Advance();
    if (failed()) return -1;
    if (token_.kind != Kind::kNumber) {
      return Fail(token_.range, "the exponent of '^' is a number, as in x^2");
    }
    const double exponent = sign * token_.number;
    Advance();
    if (At('^')) {
      return Fail(token_.range, "'^' does not chain: write (x^2)^3");
    }
    return Add(FormulaOp::kPower, {base}, begin, exponent);
  }

  int Value() {
    const FormulaToken first = token_;
    if (first.kind == Kind::kNumber) {
      Advance();
      return Add(FormulaOp::kNumber, {}, first.range.begin, first.number);
    }
    if (At('(')) {
      Open();
      Advance();
      const int inner = Sum();
      Close();
      return Expect(')', "to close the '(' before it") ? inner : -1;
    }
    if (first.kind != Kind::kName) return failed() ? -1 : FailAtToken();
    const std::string name(Text(first.range));
    const Function* function = FindFunction(name);
    Advance();
    const bool is_call = At('(') && token_.range.begin == first.end();
    if (is_call && function == nullptr) return FailNoFunction(first.range);
    if (is_call) return Call(*function, first);
    if (failed()) return -1;
    if (function != nullptr) {
      return Fail(first.range, absl::StrCat("'", name,
                                            "' is a function: '(' follows it "
                                            "directly, as in ",
                                            name, "(x)"));
    }
    const int node = Add(FormulaOp::kName, {}, first.range.begin);
    if (node >= 0) nodes_[node].name = name;
    return node;
  }

  int FailNoFunction(const TextRange& range) {
    const std::string name(Text(range));
    std::vector<std::string> known;
    for (const Function& function : kFunctions) known.push_back(function.name);
    std::string suggestion = SuggestName(name, known);
    if (suggestion.empty() && !IsReservedInFormulas(name)) {
      suggestion = absl::StrCat(
          "; a product has a space after its parameter: ", name, " (...)");
    }
    return Fail(range, absl::StrCat("there is no function '", Printable(name),
                                    "'", suggestion));
  }

  int Call(const Function& function, const FormulaToken& first) {
    Open();
    const std::string form =
        function.op == FormulaOp::kWhere ? "where(a < b, x, y)"
        : function.operands == 2         ? absl::StrCat(function.name, "(x, y)")
                                         : absl::StrCat(function.name, "(x)");
    Advance();
    std::vector<int> operands;
    for (int i = 0; i < function.operands && !failed(); ++i) {
      if (i > 0) {
        const bool compares = function.op == FormulaOp::kWhere && i == 1;
        if (!Expect(compares ? '<' : ',', absl::StrCat("in ", form))) return -1;
      }
      operands.push_back(Sum());
    }
    if (!Expect(')', absl::StrCat("at the end of ", form))) return -1;
    Close();
    return Add(function.op, std::move(operands), first.range.begin);
  }

  absl::string_view text_;
  std::vector<FormulaNode>& nodes_;
  FormulaToken token_;   // the next one
  size_t last_end_ = 0;  // of the token before it
  int depth_ = 0;
  std::optional<TextProblem> problem_;
};

}  // namespace

bool FormulaTree::UsesPositions() const {
  for (const FormulaNode& node : nodes) {
    if (node.name == "i" || node.name == "j") return true;
  }
  return false;
}

std::string FormulaTree::Quoted(const FormulaNode& node) const {
  return absl::StrCat(
      "'", Printable(text.substr(node.range.begin, node.range.length)), "'");
}

std::optional<TextProblem> ParseFormula(absl::string_view text,
                                        FormulaTree* formula) {
  *formula = {std::string(text), {}};
  return Parser(formula).Parse();
}

bool IsReservedInFormulas(absl::string_view name) {
  for (const absl::string_view variable : kVariables) {
    if (name == variable) return true;
  }
  return FindFunction(name) != nullptr;
}

absl::string_view FormulaFunctionName(FormulaOp op) {
  for (const Function& function : kFunctions) {
    if (function.op == op) return function.name;
  }
  return "";
}

bool IsElementwise(FormulaOp op) { return op > FormulaOp::kNorm; }

}  // namespace regard
