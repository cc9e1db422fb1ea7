#include "data/parallel_corpus.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"

namespace regard {

namespace {

// Represents <eos> until a corpus is encoded.
constexpr int32_t kEndNumber = -1;

}  // namespace

std::vector<int32_t> EncodeSentence(absl::Span<const std::string> tokens,
                                    const Vocabulary& vocabulary,
                                    int64_t cut_tokens) {
  std::vector<int32_t> ids = vocabulary.Encode(tokens);
  ids.push_back(Vocabulary::kEnd);
  if (cut_tokens > 0 && static_cast<int64_t>(ids.size()) > cut_tokens) {
    ids.resize(cut_tokens);
  }
  return ids;
}

void ParallelCorpusBuilder::AppendAsNumbers(
    ParallelCorpus& pairs, absl::Span<const std::string> source,
    absl::Span<const std::string> target) {
  for (const absl::Span<const std::string> tokens : {source, target}) {
    for (const std::string& token : tokens) {
      const auto next = static_cast<int32_t>(numbers_.size());
      pairs.ids_.push_back(numbers_.try_emplace(token, next).first->second);
    }
    pairs.ids_.push_back(kEndNumber);
    pairs.ends_.push_back(pairs.num_ids());
  }
}

Vocabulary ParallelCorpusBuilder::Build(bool source, bool target,
                                        int64_t min_frequency) const {
  std::vector<int64_t> times(numbers_.size());
  std::vector<int32_t> order;  // tokens in order of first occurrence
  const auto count = [&](absl::Span<const int32_t> side) {
    for (const int32_t number : side) {
      if (number == kEndNumber) continue;
      if (times[number]++ == 0) order.push_back(number);
    }
  };
  for (const ParallelCorpus* pairs : {&pairs_, &counted_}) {
    for (int64_t i = 0; i < pairs->size(); ++i) {
      if (source) count((*pairs)[i].source);
      if (target) count((*pairs)[i].target);
    }
  }
  std::vector<absl::string_view> tokens(numbers_.size());
  for (const auto& [token, number] : numbers_) tokens[number] = token;
  TokenCounts counts;
  for (const int32_t number : order) counts.Add(tokens[number], times[number]);
  return Vocabulary(counts, min_frequency);
}

ParallelCorpus ParallelCorpusBuilder::Encode(const Vocabulary& source,
                                             const Vocabulary& target,
                                             int64_t cut_tokens) && {
  std::vector<int32_t> ids[2];  // ids in the source and the target vocabulary
  for (auto& side : ids) side.resize(numbers_.size());
  for (const auto& [token, number] : numbers_) {
    const auto known = [&token = token](const Vocabulary& vocabulary) {
      const int32_t id = vocabulary.Id(token);
      return id < Vocabulary::kReserved ? Vocabulary::kUnknown : id;
    };
    ids[0][number] = known(source);
    ids[1][number] = known(target);
  }
  // Works in place. The write position never passes the read position.
  int64_t written = 0;
  int64_t begin = 0;
  for (size_t i = 0; i < pairs_.ends_.size(); ++i) {
    const std::vector<int32_t>& known = ids[i % 2];
    const int64_t end = pairs_.ends_[i];
    const int64_t kept =
        cut_tokens > 0 ? std::min(end, begin + cut_tokens) : end;
    for (int64_t j = begin; j < kept; ++j) {
      const int32_t number = pairs_.ids_[j];
      pairs_.ids_[written++] =
          number == kEndNumber ? Vocabulary::kEnd : known[number];
    }
    pairs_.ends_[i] = written;
    begin = end;
  }
  pairs_.ids_.resize(written);
  return std::move(pairs_);
}

}  // namespace regard
