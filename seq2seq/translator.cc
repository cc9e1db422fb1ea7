#include "seq2seq/translator.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "attention/attention.pb.h"
#include "autodiff/arena.h"
#include "data/parallel_corpus.h"
#include "data/target_lengths.h"
#include "evaluation/batches.h"
#include "seq2seq/decoding/output_limit.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/padded_ids.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

namespace {

// Limits on the sources that are searched together. They are large enough for
// fast matrix products, and small enough to bound the memory of logits and
// weights.
constexpr size_t kMaxSources = 64;
constexpr size_t kMaxRows = 512;
constexpr size_t kMaxWeights = 16384;  // rows * source ids of a step

int64_t LongestTranslation(absl::Span<const TranslationMember> members,
                           const std::vector<int32_t>& source,
                           const SearchConfig& search) {
  int64_t longest = 0;
  for (const TranslationMember& member : members) {
    longest = std::max(longest,
                       OutputLimit(search, std::ssize(source), member.lengths));
  }
  return longest;
}

std::string TextOf(const SentencepieceModel* tokenizer,
                   absl::Span<const std::string> tokens) {
  return tokenizer == nullptr ? absl::StrJoin(tokens, " ")
                              : tokenizer->Detokenize(tokens);
}

absl::Status CheckLength(absl::string_view side, absl::Span<const int32_t> ids,
                         int64_t longest) {
  const auto length = static_cast<int64_t>(ids.size());
  if (length <= longest) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the ", side, " has ", length,
      " tokens, including <eos>; the model supports at most ", longest));
}

// Translates the sources whose indices are in `order`.
std::vector<std::vector<Translation>> TranslateBatch(
    absl::Span<const TranslationMember> members,
    absl::Span<const std::vector<int32_t>> sources,
    absl::Span<const size_t> order, const SearchConfig& search,
    bool want_weights) {
  Arena arena;
  const PaddedIds padded = PadSequences(
      static_cast<int64_t>(order.size()), Vocabulary::kPad, arena,
      [&](int64_t row) { return absl::MakeConstSpan(sources[order[row]]); });
  std::vector<SourceSearchInputs> limits;
  for (const size_t i : order) {
    limits.push_back(
        {LongestTranslation(members, sources[i], search), KeyOf(sources[i])});
  }
  std::vector<EnsembleMember> searched;
  for (const TranslationMember& member : members) {
    searched.push_back(
        {member.model->decoder.get(), member.forward,
         [&, &encoder = *member.model->encoder](Forward<float>& forward) {
           return encoder.Encode(forward, padded.ids, padded.lengths);
         }});
  }
  return Search(
      {.members = searched, .sources = limits, .want_weights = want_weights},
      search);
}

}  // namespace

std::vector<std::vector<Translation>> TranslateIds(
    absl::Span<const TranslationMember> members,
    absl::Span<const std::vector<int32_t>> sources, const SearchConfig& search,
    bool want_weights) {
  std::vector<std::vector<Translation>> translations(sources.size());
  // Sources of similar length share a batch, which then has little padding.
  std::vector<size_t> order;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (LongestTranslation(members, sources[i], search) > 0) {
      order.push_back(i);
    } else {
      // Not even one id fits, so the translation is empty.
      translations[i].resize(1);
      translations[i][0].at_limit = true;
    }
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(sources[a].size(), a) <
           std::make_pair(sources[b].size(), b);
  });
  const auto rows_each = static_cast<size_t>(
      search.has_sampling() ? search.n_best() : search.beam());
  std::vector<absl::Span<const size_t>> batches;
  for (size_t begin = 0; begin < order.size();) {
    const auto fits = [&](size_t end) {
      const size_t count = end - begin + 1;
      const size_t rows = count * rows_each;
      return count <= kMaxSources && rows <= kMaxRows &&
             rows * sources[order[end]].size() <= kMaxWeights;
    };
    size_t end = begin + 1;
    while (end < order.size() && fits(end)) ++end;
    batches.push_back(absl::MakeConstSpan(order).subspan(begin, end - begin));
    begin = end;
  }
  // The longest batches start first, so that no long batch runs alone at the
  // end.
  std::reverse(batches.begin(), batches.end());
  const auto translate = [&](absl::Span<const TranslationMember> on, size_t i) {
    return TranslateBatch(on, sources, batches[i], search, want_weights);
  };
  const auto keep = [&](size_t i, std::vector<std::vector<Translation>> found) {
    for (size_t row = 0; row < found.size(); ++row) {
      translations[batches[i][row]] = std::move(found[row]);
    }
  };
  if (members.size() > 1) {
    // The batches run one after another, because the members' Forwards cannot
    // be shared. Threads share the matrix products of a batch instead.
    for (size_t i = 0; i < batches.size(); ++i) keep(i, translate(members, i));
    return translations;
  }
  auto found =
      ParallelMap(*members[0].forward, std::ssize(batches),
                  [&](Forward<float>& passes, int64_t i) {
                    const TranslationMember alone = {members[0].model, &passes,
                                                     members[0].lengths};
                    return translate({&alone, 1}, static_cast<size_t>(i));
                  });
  for (size_t i = 0; i < found.size(); ++i) keep(i, std::move(found[i]));
  return translations;
}

Translator::Translator(const EncoderDecoderConfig& config,
                       const AttentionRegistry& scorers, Vocabulary source,
                       Vocabulary target, int64_t cut_tokens, uint64_t seed,
                       Tokenizers tokenizers, bool finalize,
                       const TargetLengths& lengths)
    : cut_tokens_(cut_tokens),
      source_(std::move(source)),
      target_(std::move(target)),
      tokenizers_(std::move(tokenizers)),
      lengths_(lengths),
      model_(MakeModel<float>(
          config, scorers, {.source = source_.size(), .target = target_.size()},
          parameters_.Root())) {
  if (finalize) parameters_.Finalize(seed);
}

std::vector<int32_t> Translator::EncodeSource(
    absl::Span<const std::string> words) const {
  return EncodeSentence(words, source_, cut_tokens_);
}

std::vector<int32_t> Translator::EncodeTarget(
    absl::Span<const std::string> words) const {
  return EncodeSentence(words, target_, cut_tokens_);
}

int64_t Translator::longest_source() const {
  return std::min(model_.encoder->longest_position(),
                  model_.decoder->longest_memory());
}

int64_t Translator::longest_target() const {
  return model_.decoder->longest_position();
}

absl::Status Translator::CheckSourceLength(
    absl::Span<const std::string> words) const {
  return CheckLength("source", EncodeSource(words), longest_source());
}

absl::Status Translator::CheckTargetLength(
    absl::Span<const std::string> words) const {
  return CheckLength("target", EncodeTarget(words), longest_target());
}

int64_t Translator::MaxOutputIds(absl::Span<const std::string> source,
                                 const SearchConfig& search) const {
  return std::min(
      OutputLimit(search, std::ssize(EncodeSource(source)), lengths_),
      longest_target());
}

void Translator::TruncateTarget(std::vector<std::string>* words) const {
  const auto most = static_cast<size_t>(longest_target() - 1);
  if (words->size() > most) words->resize(most);
}

std::vector<std::vector<Translation>> Translator::Translate(
    Forward<float>& forward, absl::Span<const std::vector<std::string>> sources,
    const SearchConfig& search, bool want_weights) const {
  std::vector<std::vector<int32_t>> ids;
  ids.reserve(sources.size());
  for (const auto& source : sources) ids.push_back(EncodeSource(source));
  return TranslateIds({{&model_, &forward, lengths_}}, ids, search,
                      want_weights);
}

std::vector<std::string> Translator::Words(
    const Translation& translation) const {
  return target_.Decode(translation.ids);
}

std::string Translator::SourceText(absl::Span<const std::string> tokens) const {
  return TextOf(tokenizers_.source.get(), tokens);
}

std::string Translator::TargetText(absl::Span<const std::string> tokens) const {
  return TextOf(tokenizers_.target.get(), tokens);
}

}  // namespace regard
