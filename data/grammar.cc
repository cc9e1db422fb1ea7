#include "data/grammar.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// ONE and MANY are singular and plural. The noun of a noun phrase tells its
// number, and a phrase goes on after its noun in one way at most, so that no
// sentence has two derivations.
constexpr GrammarRule kEnglish[] = {
    {"SENTENCE", 8, "CLAUSE ."},
    {"SENTENCE", 1, "if CLAUSE then CLAUSE ."},
    {"SENTENCE", 1, "either CLAUSE or CLAUSE ."},
    {"CLAUSE", 1, "ONE DOES"},
    {"CLAUSE", 1, "MANY DO"},
    {"THING", 1, "ONE"},
    {"THING", 1, "MANY"},
    {"ONE", 4, "ITS CAT"},
    {"ONE", 3, "ITS ADJECTIVE CAT"},
    {"ONE", 1, "ITS CAT PLACE THING"},
    {"ONE", 1, "ITS CAT that DOES"},
    {"MANY", 4, "THEIR CATS"},
    {"MANY", 3, "THEIR ADJECTIVE CATS"},
    {"MANY", 1, "THEIR CATS PLACE THING"},
    {"MANY", 1, "THEIR CATS that DO"},
    {"ITS", 3, "the"},
    {"ITS", 2, "a"},
    {"ITS", 1, "every"},
    {"THEIR", 3, "the"},
    {"THEIR", 1, "two"},
    {"THEIR", 1, "all"},
    {"ADJECTIVE", 1, "small"},
    {"ADJECTIVE", 1, "young"},
    {"ADJECTIVE", 1, "quiet"},
    {"ADJECTIVE", 1, "brown"},
    {"CAT", 3, "cat"},
    {"CAT", 3, "dog"},
    {"CAT", 2, "bird"},
    {"CAT", 1, "farmer"},
    {"CAT", 1, "child"},
    {"CATS", 3, "cats"},
    {"CATS", 3, "dogs"},
    {"CATS", 2, "birds"},
    {"CATS", 1, "farmers"},
    {"CATS", 1, "children"},
    {"PLACE", 2, "near"},
    {"PLACE", 1, "behind"},
    {"DOES", 1, "sleeps"},
    {"DOES", 1, "sings"},
    {"DOES", 2, "SEES THING"},
    {"SEES", 2, "sees"},
    {"SEES", 1, "follows"},
    {"SEES", 1, "likes"},
    {"DO", 1, "sleep"},
    {"DO", 1, "sing"},
    {"DO", 2, "SEE THING"},
    {"SEE", 2, "see"},
    {"SEE", 1, "follow"},
    {"SEE", 1, "like"},
};

}  // namespace

absl::Span<const GrammarRule> EnglishRules() { return kEnglish; }

Grammar::Grammar(absl::Span<const GrammarRule> rules) {
  for (const GrammarRule& rule : rules) {
    if (IndexOf(rule.symbol) < 0) symbols_.emplace_back(rule.symbol);
  }
  std::vector<double> sums(symbols_.size());
  for (const GrammarRule& rule : rules) {
    sums[static_cast<size_t>(IndexOf(rule.symbol))] += rule.weight;
  }
  expansions_.resize(symbols_.size());
  for (const GrammarRule& rule : rules) {
    const auto symbol = static_cast<size_t>(IndexOf(rule.symbol));
    Expansion expansion = {rule.weight / sums[symbol], {}};
    for (const absl::string_view part :
         absl::StrSplit(rule.expansion, ' ', absl::SkipEmpty())) {
      const int index = IndexOf(part);
      if (index >= 0) {
        expansion.parts.push_back(index);
        continue;
      }
      const auto word = std::find(words_.begin(), words_.end(), part);
      expansion.parts.push_back(-1 - static_cast<int>(word - words_.begin()));
      if (word == words_.end()) words_.emplace_back(part);
    }
    expansions_[symbol].push_back(std::move(expansion));
  }
  entropy_ = Solve([](const Grammar&, const Expansion& expansion) {
    return -std::log(expansion.probability);
  });
  // Each word has a space or a newline behind it.
  length_ = Solve([](const Grammar& grammar, const Expansion& expansion) {
    double length = 0;
    for (const int part : expansion.parts) {
      if (part >= 0) continue;
      length += static_cast<double>(
          grammar.words_[static_cast<size_t>(-1 - part)].size() + 1);
    }
    return length;
  });
}

int Grammar::IndexOf(absl::string_view symbol) const {
  const auto found = std::find(symbols_.begin(), symbols_.end(), symbol);
  return found == symbols_.end() ? -1
                                 : static_cast<int>(found - symbols_.begin());
}

double Grammar::Solve(double (*own)(const Grammar&, const Expansion&)) const {
  constexpr int kMostIterations = 10000;
  std::vector<double> values(symbols_.size());
  for (int i = 0; i < kMostIterations; ++i) {
    double change = 0;
    for (size_t symbol = 0; symbol < symbols_.size(); ++symbol) {
      double value = 0;
      for (const Expansion& expansion : expansions_[symbol]) {
        double of_expansion = own(*this, expansion);
        for (const int part : expansion.parts) {
          if (part >= 0) of_expansion += values[static_cast<size_t>(part)];
        }
        value += expansion.probability * of_expansion;
      }
      change = std::max(change, std::abs(value - values[symbol]));
      values[symbol] = value;
    }
    if (!std::isfinite(values[0])) break;
    if (change < 1e-12 * values[0]) return values[0];
  }
  REGARD_CHECK(false) << "sentences of " << symbols_[0]
                      << " have no finite expected length";
  return 0;
}

std::string Grammar::Sentences(int64_t count, uint64_t seed,
                               absl::string_view purpose) const {
  const RandomStream random(seed, absl::StrCat("data/grammar/", purpose));
  uint64_t draws = 0;
  std::string text;
  std::vector<int> pending;  // the next part last
  for (int64_t i = 0; i < count; ++i) {
    pending.push_back(0);
    while (!pending.empty()) {
      const int part = pending.back();
      pending.pop_back();
      if (part < 0) {
        absl::StrAppend(&text, words_[static_cast<size_t>(-1 - part)], " ");
        continue;
      }
      const auto& choices = expansions_[static_cast<size_t>(part)];
      double left = random.UniformAt(draws++);
      size_t choice = 0;
      while (choice + 1 < choices.size() &&
             left >= choices[choice].probability) {
        left -= choices[choice++].probability;
      }
      const std::vector<int>& parts = choices[choice].parts;
      pending.insert(pending.end(), parts.rbegin(), parts.rend());
    }
    text.back() = '\n';
  }
  return text;
}

}  // namespace regard
