// Words known from before against words embedded anew.
#include "seq2seq/known_words.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "seq2seq/seq2seq_model.h"
#include "seq2seq/test_model.h"

namespace regard {
namespace {

TEST(KnownWordsTest, AreWhatTheModelEmbeds) {
  TestModel<float> model(
      {"embedding: 3 hidden: 4", "additive {}", "embedding: 5 hidden: 4"});
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  forward.BeginStep();
  const ScratchScope<float> scratch(tape);
  KnownWords known(*model, forward, kTargetWords);
  const std::vector<std::vector<int32_t>> steps = {
      {2}, {4, 4, 7}, {4, 7, 4, 2}, {5, 2, 5, 0}};
  for (const std::vector<int32_t>& ids : steps) {
    const Tape<float>::Mark mark = tape.Save();
    const auto found = known.Embed(ids);
    const auto expected =
        model->Embed(forward, ids, {static_cast<int64_t>(ids.size())});
    ASSERT_EQ(found.embedding.shape(), expected.embedding.shape());
    ASSERT_EQ(found.projected.shape(), expected.projected.shape());
    EXPECT_TRUE((found.embedding.array() == expected.embedding.array()).all());
    EXPECT_TRUE((found.projected.array() == expected.projected.array()).all());
    tape.Rewind(mark);
  }
}

}  // namespace
}  // namespace regard
