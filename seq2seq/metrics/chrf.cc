#include "seq2seq/metrics/chrf.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "files/utf8.h"
#include "seq2seq/metrics/ngrams.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr int kCharacterOrders = 6;
constexpr double kBetaSquared = 4.0;

// Appends three counts of n-grams: in the prediction, in the reference, and in
// both.
void CountOrder(const std::vector<std::string>& predicted,
                const std::vector<std::string>& wanted, int order,
                std::vector<double>* counts) {
  const int64_t in_reference = NumNgrams(wanted, order);
  // An order is ignored if the reference is too short for it.
  if (in_reference == 0) {
    counts->insert(counts->end(), {0, 0, 0});
    return;
  }
  const int64_t shared =
      SharedNgrams(CountNgrams(predicted, order), CountNgrams(wanted, order));
  counts->insert(
      counts->end(),
      {static_cast<double>(NumNgrams(predicted, order)),
       static_cast<double>(in_reference), static_cast<double>(shared)});
}

// Returns the characters of `text` without white space.
std::vector<std::string> CharactersOf(const std::string& text) {
  std::vector<std::string> characters;
  for (const Character& character : Characters(text)) {
    if (IsWhitespace(character.code_point)) continue;
    characters.emplace_back(character.bytes);
  }
  return characters;
}

// Returns the words of `text`. An ASCII punctuation mark at the end of a word
// becomes a separate word. Without a mark at the end, a mark at the beginning
// becomes one.
std::vector<std::string> WordsAndMarks(const std::string& text) {
  std::vector<std::string> words;
  for (const absl::string_view word : SplitOnWhitespace(text)) {
    const auto add = [&](absl::string_view part) { words.emplace_back(part); };
    if (Characters(word).size() == 1) {
      add(word);
    } else if (absl::ascii_ispunct(word.back())) {
      add(word.substr(0, word.size() - 1));
      add(word.substr(word.size() - 1));
    } else if (absl::ascii_ispunct(word.front())) {
      add(word.substr(0, 1));
      add(word.substr(1));
    } else {
      add(word);
    }
  }
  return words;
}

std::vector<double> CountShared(const std::string& prediction,
                                const std::string& reference, int word_orders) {
  std::vector<double> counts;
  const std::vector<std::string> predicted = CharactersOf(prediction);
  const std::vector<std::string> wanted = CharactersOf(reference);
  for (int order = 1; order <= kCharacterOrders; ++order) {
    CountOrder(predicted, wanted, order, &counts);
  }
  const std::vector<std::string> predicted_words = WordsAndMarks(prediction);
  const std::vector<std::string> wanted_words = WordsAndMarks(reference);
  for (int order = 1; order <= word_orders; ++order) {
    CountOrder(predicted_words, wanted_words, order, &counts);
  }
  return counts;
}

}  // namespace

std::vector<double> ChrfStatistics(const std::string& prediction,
                                   absl::Span<const std::string> references,
                                   int word_order) {
  REGARD_CHECK(!references.empty()) << "a prediction without a reference";
  std::vector<double> best;
  double best_score = -1.0;
  for (const std::string& reference : references) {
    std::vector<double> counts = CountShared(prediction, reference, word_order);
    const double score = ChrfOfSums(counts);
    if (score > best_score) {
      best_score = score;
      best = std::move(counts);
    }
  }
  return best;
}

double ChrfOfSums(absl::Span<const double> sums) {
  double precision = 0.0;
  double recall = 0.0;
  int orders = 0;
  for (size_t i = 0; i + 2 < sums.size(); i += 3) {
    const double predicted = sums[i];
    const double wanted = sums[i + 1];
    if (predicted == 0 || wanted == 0) continue;
    const double shared = sums[i + 2];
    precision += shared / predicted;
    recall += shared / wanted;
    ++orders;
  }
  if (precision + recall == 0.0) return 0.0;
  precision /= orders;
  recall /= orders;
  return 100.0 * (1.0 + kBetaSquared) * precision * recall /
         (kBetaSquared * precision + recall);
}

std::string ChrfSignature(int word_order, int references_each) {
  return absl::StrCat("nrefs:", references_each,
                      "|case:mixed|eff:yes|nc:", kCharacterOrders,
                      "|nw:", word_order, "|space:no|version:regard-1");
}

}  // namespace regard
