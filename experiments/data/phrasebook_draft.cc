#include "experiments/data/phrasebook_draft.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "seq2seq/sentence_pair.h"

namespace regard {
namespace {

struct Contraction {
  absl::string_view preposition;
  absl::string_view article;
  absl::string_view contracted;
};

constexpr Contraction kContractions[] = {{"de", "le", "du"},
                                         {"de", "les", "des"},
                                         {"à", "le", "au"},
                                         {"à", "les", "aux"}};

}  // namespace

int Draft::Say(absl::string_view english) {
  source_.emplace_back(english);
  return static_cast<int>(source_.size()) - 1;
}

void Draft::Write(absl::string_view french, const std::vector<int>& sources,
                  absl::string_view before_vowel) {
  Word word{std::string(french), std::string(before_vowel), {}, false};
  for (int source : sources) {
    if (source >= 0) word.sources.push_back(source);
  }
  target_.push_back(std::move(word));
}

void Draft::WriteArticle(absl::string_view french,
                         const std::vector<int>& sources) {
  Write(french, sources, french == "les" ? "" : "l'");
  target_.back().article = true;
}

absl::string_view Draft::IndefiniteArticle(absl::string_view next) {
  return absl::string_view("aeiou").find(next.front()) !=
                 absl::string_view::npos
             ? "an"
             : "a";
}

SentencePair Draft::Finish() {
  for (size_t i = 0; i + 1 < target_.size(); ++i) {
    Word& word = target_[i];
    if (!word.before_vowel.empty() &&
        BeginsWithVowelSound(target_[i + 1].french)) {
      word.french = word.before_vowel;
    }
  }
  SentencePair pair;
  pair.source = std::move(source_);
  for (size_t i = 0; i < target_.size(); ++i) {
    Word word = std::move(target_[i]);
    for (const Contraction& rule : kContractions) {
      if (i + 1 < target_.size() && target_[i + 1].article &&
          word.french == rule.preposition &&
          target_[i + 1].french == rule.article) {
        word.french = std::string(rule.contracted);
        const Word& article = target_[++i];
        word.sources.insert(word.sources.end(), article.sources.begin(),
                            article.sources.end());
        break;
      }
    }
    const int target = static_cast<int>(pair.target.size());
    for (int source : word.sources) pair.alignment.push_back({target, source});
    pair.target.push_back(std::move(word.french));
  }
  std::sort(pair.alignment.begin(), pair.alignment.end());
  pair.alignment.erase(
      std::unique(pair.alignment.begin(), pair.alignment.end()),
      pair.alignment.end());
  return pair;
}

}  // namespace regard
