#include "data/phrasebook/phrasebook_draft.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/sentence_pair.h"

namespace regard::phrasebook {
namespace {

// Most sentences need no more words.
constexpr int kWords = 16;

bool BeginsWithEnglishVowel(absl::string_view word) {
  return absl::string_view("aeiou").find(word.front()) !=
         absl::string_view::npos;
}

// Chooses y of `x|y` if the word after it begins with a vowel sound, else x.
template <typename BeginsWithVowel>
absl::string_view FormBefore(absl::string_view next, absl::string_view word,
                             BeginsWithVowel begins_with_vowel) {
  const size_t bar = word.find('|');
  if (bar == absl::string_view::npos) return word;
  return !next.empty() && begins_with_vowel(next) ? word.substr(bar + 1)
                                                  : word.substr(0, bar);
}

}  // namespace

Draft::Draft() {
  english_.reserve(kWords);
  french_.reserve(kWords);
}

Positions Draft::Say(absl::string_view english, absl::string_view label) {
  Positions positions;
  for (absl::string_view word : absl::StrSplit(english, ' ')) {
    positions.push_back(static_cast<int>(english_.size()));
    english_.push_back({word, label});
  }
  return positions;
}

Positions Draft::Find(const std::vector<std::string>& labels) const {
  Positions positions;
  for (const std::string& label : labels) {
    for (size_t i = 0; i < english_.size(); ++i) {
      if (english_[i].text == label || english_[i].label == label) {
        positions.push_back(static_cast<int>(i));
      }
    }
  }
  return positions;
}

void Draft::Write(absl::string_view french, const Positions& sources) {
  for (absl::string_view word : absl::StrSplit(french, ' ')) {
    french_.push_back({std::string(word), sources});
  }
}

SentencePair Draft::Finish(const Language& language) {
  SentencePair pair;
  pair.source.reserve(english_.size());
  for (size_t i = 0; i < english_.size(); ++i) {
    const absl::string_view next =
        i + 1 < english_.size() ? english_[i + 1].text : "";
    pair.source.emplace_back(
        FormBefore(next, english_[i].text, BeginsWithEnglishVowel));
  }
  for (size_t i = 0; i < french_.size(); ++i) {
    const absl::string_view next =
        i + 1 < french_.size() ? absl::string_view(french_[i + 1].text) : "";
    french_[i].text = std::string(
        FormBefore(next, french_[i].text, [&](absl::string_view word) {
          return language.BeginsWithVowelSound(word);
        }));
  }
  pair.target.reserve(french_.size());
  for (size_t i = 0; i < french_.size(); ++i) {
    FrenchWord word = std::move(french_[i]);
    for (const Contraction& rule : language.grammar().contraction()) {
      if (i + 1 < french_.size() && word.text == rule.preposition() &&
          french_[i + 1].text == rule.article()) {
        word.text = rule.contracted();
        const Positions& more = french_[++i].sources;
        word.sources.insert(word.sources.end(), more.begin(), more.end());
        break;
      }
    }
    const int target = static_cast<int>(pair.target.size());
    for (int source : word.sources) pair.alignment.push_back({target, source});
    pair.target.push_back(std::move(word.text));
  }
  std::sort(pair.alignment.begin(), pair.alignment.end());
  pair.alignment.erase(
      std::unique(pair.alignment.begin(), pair.alignment.end()),
      pair.alignment.end());
  return pair;
}

}  // namespace regard::phrasebook
