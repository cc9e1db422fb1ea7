// A probabilistic context-free grammar of English-like sentences whose entropy
// is known.
//
// A sentence has one derivation, so its entropy is that of the choices made:
//   H(symbol) = sum over rules p (-log p + sum over the expansion H(symbol')).
// Per character it is H(sentence) over the expected length of a line: what a
// model that knows the grammar needs on average for a long text. Sentences are
// independent, so context beyond a line does not help.
#ifndef DATA_GRAMMAR_H_
#define DATA_GRAMMAR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace regard {

// The rules of the data source `grammar`. No sentence has two derivations.
absl::string_view EnglishRules();

class Grammar {
 public:
  // Rules are lines "SYMBOL: WEIGHT EXPANSION | WEIGHT EXPANSION ...", of
  // positive weights over whose sum an expansion has its probability. What the
  // grammar has a line for is a symbol; everything else is a word. Sentences
  // expand the first symbol. The expected number of words must be finite.
  explicit Grammar(absl::string_view rules);

  // `count` sentences, one a line, words separated by spaces; a function of
  // seed and `purpose`.
  std::string Sentences(int64_t count, uint64_t seed,
                        absl::string_view purpose) const;

  // Expected surprise of a sentence, in nats.
  double SentenceEntropy() const { return entropy_; }
  // Expected characters of a line, its newline included.
  double LineLength() const { return length_; }

 private:
  struct Expansion {
    double probability;
    std::vector<int> parts;  // symbols from 0 up; word w as -1 - w
  };

  int IndexOf(absl::string_view symbol) const;
  // Solves x = own + (expected uses of symbols) x for the first symbol.
  double Solve(double (*own)(const Grammar&, const Expansion&)) const;

  std::vector<std::string> symbols_;
  std::vector<std::vector<Expansion>> expansions_;  // of each symbol
  std::vector<std::string> words_;
  double entropy_;
  double length_;
};

}  // namespace regard

#endif  // DATA_GRAMMAR_H_
