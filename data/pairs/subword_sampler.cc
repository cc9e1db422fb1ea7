#include "data/pairs/subword_sampler.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"

namespace regard {

void SubwordSampler::Add(absl::string_view source, absl::string_view target) {
  for (const absl::string_view side : {source, target}) {
    text_.Append(side);
    ends_.push_back((ends_.empty() ? 0 : ends_.back()) +
                    static_cast<int64_t>(side.size()));
  }
}

void SubwordSampler::Segment(std::optional<int64_t> epoch,
                             const Vocabulary& source, const Vocabulary& target,
                             ParallelCorpus* corpus) const {
  const auto tokens = [&](size_t i) {
    const SentencepieceModel& model = ModelOf(i);
    if (!epoch.has_value()) return model.Tokenize(Text(i));
    const RandomStream random(seed_, absl::StrCat("subwords/", *epoch, "/", i));
    std::vector<std::string> drawn =
        model.Sample(Text(i), options_.subwords().sampling(), random);
    const bool fits =
        options_.max_tokens() == 0 ||
        static_cast<int64_t>(drawn.size()) <= options_.max_tokens();
    return fits ? drawn : model.Tokenize(Text(i));
  };
  const auto ids = [&](size_t i, const Vocabulary& vocabulary) {
    return EncodeSentence(tokens(i), vocabulary, options_.cut_tokens());
  };
  corpus->Clear();
  for (size_t i = 0; i < ends_.size(); i += 2) {
    corpus->Add(ids(i, source), ids(i + 1, target));
  }
  text_.AdviseNotNeeded();
}

std::pair<int64_t, int64_t> SubwordSampler::MaxLengths() const {
  const auto capped = [](int64_t count, int64_t most) {
    return most > 0 ? std::min(count, most) : count;
  };
  int64_t longest[2] = {0, 0};
  for (size_t i = 0; i < ends_.size(); ++i) {
    const int64_t tokens =
        capped(ModelOf(i).MaxTokens(Text(i)), options_.max_tokens());
    longest[i % 2] =
        std::max(longest[i % 2], capped(tokens + 1, options_.cut_tokens()));
  }
  return {longest[0], longest[1]};
}

}  // namespace regard
