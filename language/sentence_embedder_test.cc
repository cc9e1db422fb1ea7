#include "language/sentence_embedder.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/testing/layer_check.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "data/text/wordpiece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "language/text_embedder.pb.h"
#include "language/text_vectors.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

class SentenceEmbedderTest : public ::testing::Test {
 protected:
  SentenceEmbedderTest()
      : pieces_(WordPiece::Create(
                    {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c"},
                    "vocab.txt", WordPieceOptions())
                    .value()),
        bert_(Parse<BertConfig>(
                  "transformer { width: 8 layers: 2 attention { heads: 2 } "
                  "position_embedding { longest: 32 } initialization { "
                  "standard_deviation: 0.5 } }"),
              BuiltInScorers(), pieces_.size(), store_.Root()) {
    store_.Finalize(1);
  }

  std::vector<float> Embed(const std::vector<std::string>& texts,
                           int threads = 1, int64_t longest = 32,
                           const VectorOptions& options = {}) {
    SentenceEmbedder embedder(bert_, store_, pieces_, longest, threads,
                              options);
    std::vector<float> vectors(texts.size() * 8);
    embedder.Embed(texts, absl::MakeSpan(vectors));
    return vectors;
  }

  const WordPiece pieces_;
  ParameterStore<float> store_;
  const Bert<float> bert_;
};

TEST_F(SentenceEmbedderTest, IsTheNormalizedMean) {
  Tape<float> tape;
  Forward<float> inference(tape, store_, nullptr);
  inference.BeginStep();
  const int32_t ids[] = {2, 4, 5, 3};
  const Var<float> hidden = bert_(inference, {.size = 1, .ids = ids});
  std::vector<double> mean(8);
  double squares = 0;
  for (int i = 0; i < 8; ++i) {
    for (int t = 0; t < 4; ++t) mean[i] += hidden.data()[t * 8 + i] / 4;
    squares += mean[i] * mean[i];
  }
  const std::vector<float> vector = Embed({"a B"});
  for (int i = 0; i < 8; ++i) {
    EXPECT_NEAR(vector[i], mean[i] / std::sqrt(squares), 1e-6);
  }
}

// Pools the shorter of two texts, whose padding must be ignored.
TEST_F(SentenceEmbedderTest, UsesTheConfiguredPooling) {
  Tape<float> tape;
  Forward<float> inference(tape, store_, nullptr);
  inference.BeginStep();
  const int32_t ids[] = {2, 4, 5, 3};
  const Var<float> hidden = bert_(inference, {.size = 1, .ids = ids});
  for (const auto pooling : {TextEmbedderConfig::MEAN, TextEmbedderConfig::CLS,
                             TextEmbedderConfig::MAX}) {
    const std::vector<float> vectors =
        Embed({"a B", "a b c c"}, 1, 32, {pooling, /*normalize=*/false});
    const std::vector<float> normalized =
        Embed({"a B"}, 1, 32, {pooling, /*normalize=*/true});
    double squares = 0;
    for (int i = 0; i < 8; ++i) squares += double{vectors[i]} * vectors[i];
    for (int i = 0; i < 8; ++i) {
      const double x[] = {hidden.data()[i], hidden.data()[8 + i],
                          hidden.data()[16 + i], hidden.data()[24 + i]};
      const double wanted = pooling == TextEmbedderConfig::CLS ? x[0]
                            : pooling == TextEmbedderConfig::MAX
                                ? *std::max_element(x, x + 4)
                                : (x[0] + x[1] + x[2] + x[3]) / 4;
      EXPECT_NEAR(vectors[i], wanted, 1e-6);
      EXPECT_NEAR(normalized[i], wanted / std::sqrt(squares), 1e-6);
    }
  }
}

TEST_F(SentenceEmbedderTest, ASmallMeanIsNormalizedAndZeroStaysZero) {
  for (float& value : store_.values()) value *= 1e-3F;
  double squares = 0;
  for (const float x : Embed({"a b"})) squares += double{x} * x;
  EXPECT_NEAR(squares, 1, 1e-6);
  for (float& value : store_.values()) value = 0;
  EXPECT_EQ(Embed({"a b"}), std::vector<float>(8, 0));
}

TEST_F(SentenceEmbedderTest, EmbeddingsDependOnlyOnTheirText) {
  std::vector<std::string> texts;
  for (int i = 0; i < 150; ++i) {
    std::string text;
    for (int j = 0; j < (i * 7) % 29; ++j) {
      text += (i + j) % 3 == 0 ? "a " : j % 2 == 0 ? "b" : " c";
    }
    texts.push_back(text);
  }
  const std::vector<float> all = Embed(texts);
  EXPECT_EQ(all, Embed(texts, /*threads=*/3));
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<float> alone = Embed({texts[i]});
    EXPECT_EQ(alone, std::vector<float>(&all[i * 8], &all[i * 8] + 8)) << i;
  }
}

// Tests three cases:
// * All threads share the matrix products of one text.
// * There are as many batches as threads.
// * There are more batches than threads.
TEST_F(SentenceEmbedderTest, ThreadsChangeNoBit) {
  ParameterStore<float> store;
  const Bert<float> bert(
      Parse<BertConfig>("transformer { width: 260 layers: 1 "
                        "attention { heads: 2 } "
                        "position_embedding { longest: 32 } }"),
      BuiltInScorers(), pieces_.size(), store.Root());
  store.Finalize(2);
  for (const int count : {1, 13, 90}) {
    std::vector<std::vector<int32_t>> ids;
    for (int i = 0; i < count; ++i) {
      ids.emplace_back(1 + (19 + i * 11) % 32, 4 + i % 3);
    }
    std::vector<float> expected(ids.size() * 260);
    SentenceEmbedder(bert, store, pieces_, 32, /*threads=*/1)
        .EmbedIds(ids, absl::MakeSpan(expected));
    for (const int threads : {2, 3, 8}) {
      std::vector<float> vectors(expected.size());
      SentenceEmbedder embedder(bert, store, pieces_, 32, threads);
      embedder.EmbedIds(ids, absl::MakeSpan(vectors));
      EXPECT_EQ(vectors, expected) << count << " texts, " << threads;
    }
  }
}

// A batch has at most 512 ids. The limit is lower if each thread then gets a
// batch, but never below 128.
TEST_F(SentenceEmbedderTest, ABatchHasTextsOfSimilarLength) {
  const auto sizes = [&](const std::vector<size_t>& lengths, int threads) {
    std::vector<std::vector<int32_t>> ids;
    for (const size_t length : lengths) ids.emplace_back(length, 4);
    std::vector<float> vectors(ids.size() * 8);
    SentenceEmbedder embedder(bert_, store_, pieces_, 32, threads);
    embedder.EmbedIds(ids, absl::MakeSpan(vectors));
    return embedder.LastBatchSizes();
  };
  using Lengths = std::vector<size_t>;
  EXPECT_THAT(sizes(Lengths(20, 32), 1), ElementsAre(16, 4));
  EXPECT_THAT(sizes(Lengths(20, 27), 1), ElementsAre(18, 2));
  EXPECT_THAT(sizes(Lengths(20, 20), 2), ElementsAre(10, 10));
  EXPECT_THAT(sizes(Lengths(43, 3), 3), ElementsAre(42, 1));
  EXPECT_THAT(sizes({32, 1, 32, 1, 32, 1, 32, 1, 32}, 8), ElementsAre(4, 4, 1));
}

TEST_F(SentenceEmbedderTest, AWarmCallAllocatesNothing) {
  const std::vector<std::vector<int32_t>> ids = {{2, 4, 3}, {2, 3}, {2, 5, 3}};
  std::vector<float> vectors(ids.size() * 8);
  SentenceEmbedder embedder(bert_, store_, pieces_, 32, /*threads=*/2);
  const auto embed = [&] { embedder.EmbedIds(ids, absl::MakeSpan(vectors)); };
  for (int i = 0; i < 3; ++i) embed();
  const int64_t before = AllocationCount();
  embed();
  EXPECT_EQ(AllocationCount() - before, 0);
}

TEST_F(SentenceEmbedderTest, TruncatesAndAcceptsAnyText) {
  std::string words;
  for (int i = 0; i < 10000; ++i) words += "a ";
  std::string few;
  for (int i = 0; i < 6; ++i) few += "a ";
  EXPECT_EQ(Embed({words}, 1, 8), Embed({few}, 1, 32));
  EXPECT_EQ(Embed({""}), Embed({"\xff\n"}));
  EXPECT_TRUE(Embed({}).empty());
  EXPECT_DEATH(Embed({"a"}, 1, 33), "texts of 33 ids of 32");
  float vector[8];
  SentenceEmbedder embedder(bert_, store_, pieces_, 8, /*threads=*/1);
  EXPECT_DEATH(embedder.EmbedIds({std::vector<int32_t>()}, vector),
               "text 0 of 0 ids");
  EXPECT_DEATH(embedder.EmbedIds({std::vector<int32_t>(9)}, vector),
               "text 0 of 9 ids; at most 8");
}

}  // namespace
}  // namespace regard
