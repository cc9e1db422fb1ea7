#include "seq2seq/metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "files/utf8.h"
#include "seq2seq/metrics/ngrams.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(c); }

bool IsPeriodOrComma(char c) { return c == '.' || c == ','; }

// Puts spaces around spaces and ASCII punctuation, except apostrophe, comma,
// hyphen and period.
std::string SplitOffPunctuation(absl::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool alone =
        c == ' ' || (absl::ascii_ispunct(c) && !absl::StrContains("',-.", c));
    absl::StrAppend(&result, alone ? " " : "", absl::string_view(&c, 1),
                    alone ? " " : "");
  }
  return result;
}

// Adds spaces to each pair of bytes that satisfies matches(first, second): the
// result is before + first + " " + second + after. Replaces pairs from left to
// right without overlap. Comparing bytes instead of characters is enough,
// because `matches` accepts only ASCII. std::regex would take ten times as
// long.
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

}  // namespace

std::vector<std::string> Tokenize13a(absl::string_view sentence) {
  std::string text(WithoutTrailingWhitespace(sentence));
  // The replacements run one after another: "&amp;lt;" becomes "<".
  for (const auto& [from, to] :
       {std::pair<const char*, const char*>{"<skipped>", ""},
        {"-\n", ""},
        {"\n", " "},
        {"&quot;", "\""},
        {"&amp;", "&"},
        {"&lt;", "<"},
        {"&gt;", ">"}}) {
    text = absl::StrReplaceAll(text, {{from, to}});
  }
  text = SplitOffPunctuation(absl::StrCat(" ", text, " "));
  text = SpacePairs(
      text, [](char a, char b) { return !IsDigit(a) && IsPeriodOrComma(b); },
      "", " ");
  text = SpacePairs(
      text, [](char a, char b) { return IsPeriodOrComma(a) && !IsDigit(b); },
      " ", "");
  text = SpacePairs(
      text, [](char a, char b) { return IsDigit(a) && b == '-'; }, "", " ");
  return Tokenize(text, BleuTokenizer::kNone);
}

std::array<double, kBleuStatistics> BleuStatistics(
    const std::string& prediction, absl::Span<const std::string> references,
    BleuTokenizer tokenizer) {
  REGARD_CHECK(!references.empty()) << "a prediction without a reference";
  const std::vector<std::string> predicted = Tokenize(prediction, tokenizer);
  std::vector<std::vector<std::string>> wanted;
  // The distance to the nearest reference length, and this length. Ties go to
  // the shorter reference.
  std::pair<int64_t, int64_t> nearest = {std::numeric_limits<int64_t>::max(),
                                         0};
  for (const std::string& reference : references) {
    wanted.push_back(Tokenize(reference, tokenizer));
    const int64_t length = std::ssize(wanted.back());
    nearest = std::min<std::pair<int64_t, int64_t>>(
        nearest, {std::abs(length - std::ssize(predicted)), length});
  }
  std::array<double, kBleuStatistics> statistics = {
      static_cast<double>(predicted.size()),
      static_cast<double>(nearest.second)};
  for (int order = 1; order <= kBleuOrders; ++order) {
    // The maximum count of each n-gram over the references.
    NgramCounts most;
    for (const std::vector<std::string>& reference : wanted) {
      for (const auto& [ngram, count] : CountNgrams(reference, order)) {
        int64_t& raised = most[ngram];
        raised = std::max(raised, count);
      }
    }
    statistics[1 + order] =
        static_cast<double>(SharedNgrams(CountNgrams(predicted, order), most));
    statistics[1 + kBleuOrders + order] =
        static_cast<double>(NumNgrams(predicted, order));
  }
  return statistics;
}

double BleuOfSums(absl::Span<const double> sums) {
  // Smoothing does not apply if no word matches.
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
  return absl::StrCat("nrefs:", references_each, "|case:mixed|eff:no|tok:",
                      tokenizer == BleuTokenizer::k13a ? "13a" : "none",
                      "|smooth:exp|version:regard-1");
}

double D2lBleu(absl::Span<const std::string> prediction,
               absl::Span<const std::string> label, int max_order) {
  REGARD_CHECK_GE(max_order, 1);
  if (std::ssize(prediction) < max_order) return 0.0;
  double score =
      std::exp(std::min(0.0, 1.0 - static_cast<double>(label.size()) /
                                       static_cast<double>(prediction.size())));
  for (int order = 1; order <= max_order; ++order) {
    const int64_t matches =
        SharedNgrams(CountNgrams(prediction, order), CountNgrams(label, order));
    const double precision = static_cast<double>(matches) /
                             static_cast<double>(NumNgrams(prediction, order));
    score *= std::pow(precision, std::exp2(-order));
  }
  return score;
}

}  // namespace regard
