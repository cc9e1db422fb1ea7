#include "seq2seq/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "files/utf8.h"
#include "seq2seq/metrics/ngrams.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

bool IsPeriodOrComma(char c) { return c == '.' || c == ','; }

// ASCII punctuation and space, without ' , - and period.
bool StandsAlone(char c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' ||
         (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

std::string SplitOffPunctuation(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    if (StandsAlone(c)) {
      absl::StrAppend(&result, " ", absl::string_view(&c, 1), " ");
    } else {
      result += c;
    }
  }
  return result;
}

// Rewrites each pair of neighbours that `matches(first, second)`, from the left
// and without overlap, as before + first + between + second + after. Bytes do
// for characters: the tests are on ASCII alone.
template <typename Matches>
std::string SpacePairs(absl::string_view text, Matches matches,
                       absl::string_view before, absl::string_view after) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      absl::StrAppend(&result, before, text.substr(i, 1), " ",
                      text.substr(i + 1, 1), after);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

absl::string_view WithoutTrailingWhitespace(absl::string_view text) {
  const std::vector<absl::string_view> words = SplitOnWhitespace(text);
  if (words.empty()) return {};
  return text.substr(0, words.back().end() - text.begin());
}

std::vector<std::string> Tokenize(absl::string_view sentence,
                                  BleuTokenizer tokenizer) {
  if (tokenizer == BleuTokenizer::k13a) return Tokenize13a(sentence);
  const std::vector<absl::string_view> words = SplitOnWhitespace(sentence);
  return {words.begin(), words.end()};
}

// Of each n-gram as many as the reference that has most of them.
void RaiseTo(const NgramCounts& counts, NgramCounts& most) {
  for (const auto& [ngram, count] : counts) {
    int64_t& raised = most[ngram];
    raised = std::max(raised, count);
  }
}

// Of equally near lengths the shorter.
int64_t ClosestLength(const std::vector<UnitSequence>& references,
                      int64_t length) {
  int64_t closest = references.front().size();
  for (const UnitSequence& reference : references) {
    const int64_t distance = std::abs(reference.size() - length);
    const int64_t shortest = std::abs(closest - length);
    if (distance < shortest ||
        (distance == shortest && reference.size() < closest)) {
      closest = reference.size();
    }
  }
  return closest;
}

}  // namespace

std::vector<std::string> Tokenize13a(absl::string_view sentence) {
  std::string text = absl::StrReplaceAll(WithoutTrailingWhitespace(sentence),
                                         {{"<skipped>", ""}});
  text = absl::StrReplaceAll(text, {{"-\n", ""}});
  text = absl::StrReplaceAll(text, {{"\n", " "}});
  // One after the other: "&amp;lt;" ends as "<".
  text = absl::StrReplaceAll(text, {{"&quot;", "\""}});
  text = absl::StrReplaceAll(text, {{"&amp;", "&"}});
  text = absl::StrReplaceAll(text, {{"&lt;", "<"}});
  text = absl::StrReplaceAll(text, {{"&gt;", ">"}});
  text = SplitOffPunctuation(absl::StrCat(" ", text, " "));
  const auto is_digit = [](char c) { return absl::ascii_isdigit(c); };
  text = SpacePairs(
      text, [&](char a, char b) { return !is_digit(a) && IsPeriodOrComma(b); },
      "", " ");
  text = SpacePairs(
      text, [&](char a, char b) { return IsPeriodOrComma(a) && !is_digit(b); },
      " ", "");
  text = SpacePairs(
      text, [&](char a, char b) { return is_digit(a) && b == '-'; }, "", " ");
  return Tokenize(text, BleuTokenizer::kNone);
}

std::array<double, kBleuStatistics> BleuStatistics(
    const std::string& prediction, absl::Span<const std::string> references,
    BleuTokenizer tokenizer) {
  REGARD_CHECK(!references.empty()) << "a prediction without a reference";
  const UnitSequence predicted =
      UnitSequence::Words(Tokenize(prediction, tokenizer));
  std::vector<UnitSequence> wanted;
  for (const std::string& reference : references) {
    wanted.push_back(UnitSequence::Words(Tokenize(reference, tokenizer)));
  }
  std::array<double, kBleuStatistics> statistics = {
      static_cast<double>(predicted.size()),
      static_cast<double>(ClosestLength(wanted, predicted.size()))};
  for (int order = 1; order <= kBleuOrders; ++order) {
    NgramCounts most;
    for (const UnitSequence& reference : wanted) {
      RaiseTo(CountNgrams(reference, order), most);
    }
    statistics[1 + order] =
        static_cast<double>(SharedNgrams(CountNgrams(predicted, order), most));
    statistics[1 + kBleuOrders + order] =
        static_cast<double>(NumNgrams(predicted, order));
  }
  return statistics;
}

double BleuOfSums(absl::Span<const double> sums) {
  // Smoothing does not make something of nothing.
  if (sums[2] == 0.0) return 0.0;
  double log_sum = 0.0;
  double halves = 1.0;
  for (int i = 0; i < kBleuOrders; ++i) {
    double matches = sums[2 + i];
    const double total = sums[2 + kBleuOrders + i];
    if (total == 0.0) return 0.0;
    if (matches == 0.0) {
      halves *= 2.0;
      matches = 1.0 / halves;
    }
    log_sum += std::log(100.0 * matches / total);
  }
  const double brevity_penalty =
      sums[0] < sums[1] ? std::exp(1.0 - sums[1] / sums[0]) : 1.0;
  return brevity_penalty * std::exp(log_sum / kBleuOrders);
}

std::string BleuSignature(BleuTokenizer tokenizer, int references_each) {
  return absl::StrCat(
      "nrefs:",
      references_each > 0 ? absl::StrCat(references_each) : std::string("var"),
      "|case:mixed|eff:no|tok:",
      tokenizer == BleuTokenizer::k13a ? "13a" : "none",
      "|smooth:exp|version:regard-1");
}

}  // namespace regard
