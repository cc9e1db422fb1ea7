#include "data/text/entailment.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "autodiff/random.h"

namespace regard {

namespace {

// Pairs of opposites. The words of one string are synonyms.
constexpr std::array<absl::string_view, 2> kAdjectives[] = {
    {"small little", "large big"},
    {"young", "old elderly"},
    {"fast quick", "slow"},
    {"happy glad", "sad"},
    {"rich wealthy", "poor"},
    {"clean", "dirty filthy"},
    {"quiet silent", "loud noisy"},
    {"strong", "weak"},
    {"clever smart", "stupid"},
    {"beautiful pretty", "ugly"},
    {"sick ill", "healthy"},
    {"brave", "cowardly"},
    {"gentle", "cruel"},
    {"thin slim", "fat"},
};
constexpr std::array<absl::string_view, 2> kVerbs[] = {
    {"helps assists", "hinders"},
    {"loves adores", "hates detests"},
    {"trusts", "doubts"},
    {"remembers recalls", "forgets"},
    {"pushes", "pulls"},
    {"follows", "leads"},
    {"finds", "loses"},
    {"lifts raises", "lowers"},
    {"hides conceals", "shows"},
    {"praises", "blames criticizes"},
    {"catches captures", "releases frees"},
    {"calms soothes", "scares frightens"},
    {"feeds", "starves"},
};
// The name of each kind of nouns, and the nouns that belong only to this kind.
constexpr std::array<absl::string_view, 2> kNouns[] = {
    {"person", "farmer doctor teacher soldier nurse baker lawyer singer"},
    {"dog", "beagle poodle terrier bulldog collie"},
    {"bird", "eagle owl crow duck sparrow pigeon"},
    {"fish", "salmon trout shark tuna herring"},
    {"insect", "bee ant wasp beetle moth"},
    {"reptile", "snake lizard turtle crocodile"},
};

constexpr EntailmentRule kEntailing[] = {
    EntailmentRule::kSynonym, EntailmentRule::kKind, EntailmentRule::kFewer};
constexpr EntailmentRule kContradicting[] = {EntailmentRule::kOppositeAdjective,
                                             EntailmentRule::kOppositeVerb};
constexpr EntailmentRule kUnrelated[] = {EntailmentRule::kOtherNoun,
                                         EntailmentRule::kExchanged,
                                         EntailmentRule::kAnother};
// The rules of each label.
constexpr absl::Span<const EntailmentRule> kRules[] = {
    kEntailing, kContradicting, kUnrelated};

using Words = std::vector<absl::string_view>;

// Assigns half of all sentences to training, a quarter to dev, and a quarter to
// test.
EntailmentPairs::Part PartOf(absl::string_view sentence, uint64_t seed) {
  const uint64_t quarter =
      RandomStream(seed, absl::StrCat("data/entailment/", sentence))
          .UniformIntAt(0, 4);
  return quarter == 0   ? EntailmentPairs::Part::kDev
         : quarter == 1 ? EntailmentPairs::Part::kTest
                        : EntailmentPairs::Part::kTrain;
}

// Returns the sentence with subject and object exchanged.
std::string Exchanged(const Words& words, size_t verb) {
  const auto subject = absl::MakeConstSpan(words).first(verb);
  const auto object =
      absl::MakeConstSpan(words).subspan(verb + 1, words.size() - verb - 2);
  if (subject.back() == object.back()) return "";
  return absl::StrCat(absl::StrJoin(object, " "), " ", words[verb], " ",
                      absl::StrJoin(subject, " "), " ", words.back());
}

}  // namespace

EntailmentPairs::Meanings EntailmentPairs::AllWordMeanings() {
  Meanings meanings;
  const auto add = [&](Sort sort, const auto& groups) {
    for (int group = 0; group < std::ssize(groups); ++group) {
      for (int side = 0; side < 2; ++side) {
        for (const absl::string_view word :
             absl::StrSplit(groups[group][side], ' ')) {
          meanings[std::string(word)] = {sort, group, side};
        }
      }
    }
  };
  add(Sort::kAdjective, kAdjectives);
  add(Sort::kVerb, kVerbs);
  add(Sort::kNoun, kNouns);
  return meanings;
}

std::string EntailmentPairs::GrammarRules(const Meanings& meanings) {
  std::string rules =
      "SENTENCE: 1 THING DOES THING .\n"
      "THING: 1 the NOUN | 1 the ADJECTIVE NOUN\n";
  constexpr std::pair<absl::string_view, Sort> kSymbols[] = {
      {"ADJECTIVE", Sort::kAdjective},
      {"DOES", Sort::kVerb},
      {"NOUN", Sort::kNoun}};
  for (const auto& [symbol, sort] : kSymbols) {
    std::vector<std::string> words;
    for (const auto& [word, meaning] : meanings) {
      if (meaning.sort == sort) words.push_back(absl::StrCat("1 ", word));
    }
    absl::StrAppend(&rules, symbol, ": ", absl::StrJoin(words, " | "), "\n");
  }
  return rules;
}

bool EntailmentPairs::Replaces(EntailmentRule rule, const Meaning& here,
                               const Meaning& there) {
  if (here.sort != there.sort) return false;
  const Sort sort = here.sort;
  const bool related = here.group == there.group;
  switch (rule) {
    case EntailmentRule::kSynonym:
      return sort != Sort::kNoun && related && here.side == there.side;
    case EntailmentRule::kKind:
      return sort == Sort::kNoun && related && here.side > there.side;
    case EntailmentRule::kOtherNoun:
      return sort == Sort::kNoun && !related;
    case EntailmentRule::kOppositeAdjective:
      return sort == Sort::kAdjective && related && here.side != there.side;
    case EntailmentRule::kOppositeVerb:
      return sort == Sort::kVerb && related && here.side != there.side;
    case EntailmentRule::kFewer:
    case EntailmentRule::kExchanged:
    case EntailmentRule::kAnother:
      return false;
  }
  return false;
}

std::vector<std::string> EntailmentPairs::Apply(
    EntailmentRule rule, absl::string_view sentence) const {
  const Words words = absl::StrSplit(sentence, ' ');
  std::vector<std::string> made;
  // Adds the sentence with words[i] replaced by `word`. An empty `word` removes
  // words[i].
  const auto add = [&](size_t i, absl::string_view word) {
    Words changed = words;
    changed[i] = word;
    if (word.empty()) changed.erase(changed.begin() + i);
    made.push_back(absl::StrJoin(changed, " "));
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const auto found = meanings_.find(words[i]);
    if (found == meanings_.end()) continue;
    const Meaning& here = found->second;
    if (rule == EntailmentRule::kFewer && here.sort == Sort::kAdjective) {
      add(i, "");
    } else if (rule == EntailmentRule::kExchanged && here.sort == Sort::kVerb) {
      std::string exchanged = Exchanged(words, i);
      if (!exchanged.empty()) made.push_back(std::move(exchanged));
    }
    for (const auto& [word, there] : meanings_) {
      if (word != words[i] && Replaces(rule, here, there)) add(i, word);
    }
  }
  return made;
}

std::vector<LabelledText> EntailmentPairs::Make(int64_t count, uint64_t seed,
                                                Part part) const {
  constexpr int64_t kSentences = 1000;  // number of sentences drawn at once
  constexpr const char* kNames[] = {"train", "dev", "test"};
  const std::string purpose =
      absl::StrCat("entailment/", kNames[static_cast<int>(part)]);
  const RandomStream random(seed, absl::StrCat("data/", purpose));
  uint64_t draws = 0;
  std::string waiting;  // the first sentence of an unfinished pair
  std::vector<LabelledText> pairs;
  for (int64_t chunk = 0; std::ssize(pairs) < count; ++chunk) {
    const std::string sentences = grammar_.GenerateSentences(
        kSentences, seed, absl::StrCat(purpose, "/", chunk));
    for (const absl::string_view first :
         absl::StrSplit(sentences, '\n', absl::SkipEmpty())) {
      if (std::ssize(pairs) == count) break;
      if (PartOf(first, seed) != part) continue;
      const size_t label = pairs.size() % std::size(kRules);
      const absl::Span<const EntailmentRule> rules = kRules[label];
      const EntailmentRule rule =
          rules[pairs.size() / std::size(kRules) % rules.size()];
      LabelledText pair = {std::string(first), static_cast<int32_t>(label)};
      if (rule == EntailmentRule::kAnother) {
        std::swap(waiting, pair.text);
        if (pair.text.empty()) continue;
        pair.second = std::move(waiting);
        waiting.clear();
      } else {
        std::vector<std::string> seconds = Apply(rule, first);
        if (seconds.empty()) continue;
        pair.second = seconds[random.UniformIntAt(draws++, seconds.size())];
        if (PartOf(*pair.second, seed) != part) continue;
      }
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace regard
