// A probabilistic context-free grammar of English-like sentences, whose entropy
// is known.
//
// Each sentence has one derivation. The entropy of a random sentence is
// therefore the entropy of the choices in its derivation:
//
//   H(symbol) = sum over rules p * (-log p + sum of H over the expansion).
//
// The entropy per character is H(sentence) divided by the expected length of a
// line. It is the minimum average loss of any model on a long text. Sentences
// are independent, so context before the line does not help.
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
  // Parses the rules, which are lines "SYMBOL: WEIGHT EXPANSION | WEIGHT
  // EXPANSION ...". Weights are positive. The probability of an expansion is
  // its weight divided by the sum of weights. The names before colons are
  // symbols, and everything else is a word. A sentence is derived from the
  // first symbol. The expected number of words must be finite.
  explicit Grammar(absl::string_view rules);

  // Returns `count` sentences, one per line, with spaces between words. Depends
  // only on `seed` and `purpose`.
  std::string GenerateSentences(int64_t count, uint64_t seed,
                                absl::string_view purpose) const;

  // The entropy of a sentence, in nats.
  double SentenceEntropy() const { return entropy_; }
  // The expected number of characters of a line, including its newline.
  double MeanLineCharacters() const { return length_; }

 private:
  struct Expansion {
    double probability;
    std::vector<int> parts;  // symbol s as s, word w as -1 - w
  };

  int IndexOf(absl::string_view symbol) const;
  // Returns the expectation of the sum of `own` over all expansions in a
  // sentence.
  double SolveExpectation(double (*own)(const Grammar&,
                                        const Expansion&)) const;

  std::vector<std::string> symbols_;
  std::vector<std::vector<Expansion>> expansions_;  // one per symbol
  std::vector<std::string> words_;
  double entropy_;
  double length_;
};

}  // namespace regard

#endif  // DATA_GRAMMAR_H_
