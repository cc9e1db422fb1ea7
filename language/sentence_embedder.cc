#include "language/sentence_embedder.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "files/number_text.h"
#include "nn/forward.h"
#include "seq2seq/padded_ids.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The maximum number of ids of a batch, unless one text is longer. The
// activations of this many ids stay in the cache. If there would be fewer
// batches than threads, the limit is lower. It is at least kMinIds, because
// matrix products with few rows are slow.
constexpr int64_t kMaxIds = 512;
constexpr int64_t kMinIds = 128;

}  // namespace

double Similarity(absl::Span<const float> a, absl::Span<const float> b) {
  double product = 0;
  for (size_t i = 0; i < a.size(); ++i) product += double{a[i]} * b[i];
  return product;
}

std::string VectorText(absl::Span<const float> vector) {
  std::string text;
  for (const float number : vector) {
    if (!text.empty()) text.push_back(' ');
    text += NumberText(number);
  }
  return text;
}

// The state of one thread. Parameter leaves and packed weights are reused by
// all of its batches.
class SentenceEmbedder::Worker {
 public:
  Worker(const Bert<float>& bert, const ParameterStore<float>& parameters,
         const VectorOptions& options)
      : bert_(bert),
        options_(options),
        forward_(tape_, parameters, /*gradients=*/nullptr) {
    forward_.BeginStep();
    begin_ = tape_.Save();
  }

  // Computes a batch of texts, ordered by length.
  void Embed(absl::Span<const Text> texts) {
    const PaddedIds ids = PadSequences(
        static_cast<int64_t>(texts.size()), /*pad=*/0, tape_.arena(),
        [&](int64_t row) { return absl::MakeConstSpan(*texts[row].ids); });
    const Var<float> hidden = bert_(
        forward_, {.size = ids.rows, .ids = ids.ids, .lengths = ids.lengths});
    const Var<float> pooled = PoolTokens(options_.pooling, hidden, ids.lengths);
    const auto width = static_cast<size_t>(pooled.cols());
    for (size_t i = 0; i < texts.size(); ++i) {
      FinishVector(options_, pooled.span().subspan(i * width, width),
                   {texts[i].vector, width});
    }
    tape_.Rewind(begin_);
  }

 private:
  const Bert<float>& bert_;
  const VectorOptions options_;
  Tape<float> tape_;
  Forward<float> forward_;
  Tape<float>::Mark begin_;
};

SentenceEmbedder::SentenceEmbedder(const Bert<float>& bert,
                                   const ParameterStore<float>& parameters,
                                   const WordPiece& pieces, int64_t longest,
                                   int threads, const VectorOptions& options)
    : bert_(bert), pieces_(pieces), longest_(longest), pool_(threads) {
  REGARD_CHECK(longest >= 2 && longest <= bert.longest_position())
      << "texts of " << longest << " ids of " << bert.longest_position();
  for (int i = 0; i < threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(bert, parameters, options));
  }
}

SentenceEmbedder::~SentenceEmbedder() = default;

void SentenceEmbedder::Embed(absl::Span<const std::string> texts,
                             absl::Span<float> vectors) {
  std::vector<std::vector<int32_t>> ids(texts.size());
  pool_.Run(static_cast<int64_t>(texts.size()), [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    ids[index] = pieces_.Encode(texts[index], longest_);
  });
  EmbedIds(ids, vectors);
}

void SentenceEmbedder::EmbedIds(absl::Span<const std::vector<int32_t>> ids,
                                absl::Span<float> vectors) {
  const int64_t width = bert_.width();
  REGARD_CHECK_EQ(static_cast<int64_t>(vectors.size()),
                  static_cast<int64_t>(ids.size()) * width);
  MakeBatches(ids, vectors);
  // Threads take the longest remaining batch.
  const auto batch = [&](size_t i) {
    return batches_[batches_.size() - 1 - i];
  };
  if (batches_.size() < workers_.size()) {
    const InferenceThreads help(pool_);
    for (size_t i = 0; i < batches_.size(); ++i) workers_[0]->Embed(batch(i));
    return;
  }
  // The pool calls this function once for each worker.
  std::atomic<size_t> taken = 0;
  pool_.Run(static_cast<int64_t>(workers_.size()), [&](int64_t worker) {
    for (size_t i = taken++; i < batches_.size(); i = taken++) {
      workers_[static_cast<size_t>(worker)]->Embed(batch(i));
    }
  });
}

std::vector<size_t> SentenceEmbedder::LastBatchSizes() const {
  std::vector<size_t> sizes;
  for (const auto& batch : batches_) sizes.push_back(batch.size());
  return sizes;
}

void SentenceEmbedder::MakeBatches(absl::Span<const std::vector<int32_t>> ids,
                                   absl::Span<float> vectors) {
  texts_.clear();
  int64_t total = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto count = static_cast<int64_t>(ids[i].size());
    REGARD_CHECK(count >= 1 && count <= longest_)
        << "text " << i << " of " << count << " ids; at most " << longest_;
    total += count;
    texts_.push_back({&ids[i], vectors.data() + i * bert_.width()});
  }
  std::sort(texts_.begin(), texts_.end(), [](const Text& a, const Text& b) {
    return std::make_pair(a.ids->size(), a.ids) <
           std::make_pair(b.ids->size(), b.ids);
  });
  const int64_t most = std::clamp(total / pool_.threads(), kMinIds, kMaxIds);
  batches_.clear();
  const absl::Span<const Text> all = texts_;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin + 1;
    while (end < all.size() &&
           static_cast<int64_t>((end + 1 - begin) * all[end].ids->size()) <=
               most) {
      ++end;
    }
    batches_.push_back(all.subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace regard
