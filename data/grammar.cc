#include "data/grammar.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// ONE is a singular noun phrase, and MANY is a plural noun phrase. A noun
// phrase continues after its noun in at most one way. Therefore, no sentence
// has two derivations.
constexpr absl::string_view kEnglish =
    "SENTENCE: 8 CLAUSE . | 1 if CLAUSE then CLAUSE ."
    " | 1 either CLAUSE or CLAUSE .\n"
    "CLAUSE: 1 ONE DOES | 1 MANY DO\n"
    "THING: 1 ONE | 1 MANY\n"
    "ONE: 4 ITS CAT | 3 ITS ADJECTIVE CAT | 1 ITS CAT PLACE THING"
    " | 1 ITS CAT that DOES\n"
    "MANY: 4 THEIR CATS | 3 THEIR ADJECTIVE CATS | 1 THEIR CATS PLACE THING"
    " | 1 THEIR CATS that DO\n"
    "ITS: 3 the | 2 a | 1 every\n"
    "THEIR: 3 the | 1 two | 1 all\n"
    "ADJECTIVE: 1 small | 1 young | 1 quiet | 1 brown\n"
    "CAT: 3 cat | 3 dog | 2 bird | 1 farmer | 1 child\n"
    "CATS: 3 cats | 3 dogs | 2 birds | 1 farmers | 1 children\n"
    "PLACE: 2 near | 1 behind\n"
    "DOES: 1 sleeps | 1 sings | 2 SEES THING\n"
    "SEES: 2 sees | 1 follows | 1 likes\n"
    "DO: 1 sleep | 1 sing | 2 SEE THING\n"
    "SEE: 2 see | 1 follow | 1 like\n";

}  // namespace

absl::string_view EnglishRules() { return kEnglish; }

Grammar::Grammar(absl::string_view rules) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(rules, '\n', absl::SkipEmpty());
  for (const absl::string_view line : lines) {
    symbols_.emplace_back(line.substr(0, line.find(':')));
  }
  for (size_t symbol = 0; symbol < lines.size(); ++symbol) {
    std::vector<Expansion>& expansions = expansions_.emplace_back();
    double sum = 0;
    for (const absl::string_view alternative : absl::StrSplit(
             lines[symbol].substr(symbols_[symbol].size() + 1), '|')) {
      double weight = 0;
      std::vector<int> parts;
      for (const absl::string_view part :
           absl::StrSplit(alternative, ' ', absl::SkipEmpty())) {
        if (weight == 0) {
          REGARD_CHECK(absl::SimpleAtod(part, &weight)) << lines[symbol];
          continue;
        }
        if (const int index = IndexOf(part); index >= 0) {
          parts.push_back(index);
          continue;
        }
        const auto word = std::find(words_.begin(), words_.end(), part);
        parts.push_back(-1 - static_cast<int>(word - words_.begin()));
        if (word == words_.end()) words_.emplace_back(part);
      }
      expansions.push_back({weight, std::move(parts)});
      sum += weight;
    }
    for (Expansion& expansion : expansions) expansion.probability /= sum;
  }
  entropy_ = SolveExpectation([](const Grammar&, const Expansion& expansion) {
    return -std::log(expansion.probability);
  });
  // Each word is followed by one character, a space or a newline.
  length_ =
      SolveExpectation([](const Grammar& grammar, const Expansion& expansion) {
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

double Grammar::SolveExpectation(double (*own)(const Grammar&,
                                               const Expansion&)) const {
  constexpr int kMaxIterations = 10000;
  std::vector<double> values(symbols_.size());
  for (int i = 0; i < kMaxIterations; ++i) {
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

std::string Grammar::GenerateSentences(int64_t count, uint64_t seed,
                                       absl::string_view purpose) const {
  const RandomStream random(seed, absl::StrCat("data/grammar/", purpose));
  uint64_t draws = 0;
  std::string text;
  std::vector<int> pending;  // parts to expand, the next one last
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
