// A sentence pair in the making: English is said first, French is written with
// the English words it was made from, and French spelling rules come last.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_DRAFT_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_DRAFT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "seq2seq/sentence_pair.h"

namespace regard {

class Draft {
 public:
  // Appends one English word; returns its position.
  int Say(absl::string_view english);

  // Appends one French word made from the English words at `sources`, negative
  // positions left out. `before_vowel` is its form where the next word begins
  // with a vowel sound, empty if it has no other.
  void Write(absl::string_view french, const std::vector<int>& sources,
             absl::string_view before_vowel = "");

  // Like Write() for `le` (l'), `la` (l') and `les`, which `de` and `à` before
  // them swallow: du, des, au, aux. The clitic pronouns are no articles.
  void WriteArticle(absl::string_view french, const std::vector<int>& sources);

  // `a` or `an`, as the English word `next` after it wants.
  static absl::string_view IndefiniteArticle(absl::string_view next);

  // Elides, contracts and sorts the links. The draft is spent.
  SentencePair Finish();

 private:
  struct Word {
    std::string french;
    std::string before_vowel;
    std::vector<int> sources;
    bool article = false;
  };

  std::vector<std::string> source_;
  std::vector<Word> target_;
};

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_DRAFT_H_
