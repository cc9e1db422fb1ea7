// Tests sentence embeddings of folders with the files of sentence-transformers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "data/text/text_splits.h"
#include "data/text/wordpiece_config.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/sentence_embedder.h"
#include "language/text_embedder.h"
#include "language/text_embedder.pb.h"
#include "optimization/model.h"
#include "pretrained/bert_folder.h"
#include "pretrained/bert_format.h"
#include "pretrained/pretrained_folder.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::HasSubstr;

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

// Returns the model that a run creates from the folder.
std::unique_ptr<SentenceEmbeddingModel> ReadModel(const std::string& path) {
  const auto folder = OpenBertFolder(path, Scorers());
  EXPECT_THAT(folder, IsOk());
  TextEmbedderConfig config;
  *config.mutable_bert() = folder->description.config;
  *config.mutable_tokens() = ToTokenConfig(folder->options);
  config.set_longest(static_cast<int32_t>(folder->longest));
  config.set_pooling(folder->vectors.pooling);
  config.set_normalize(folder->vectors.normalize);
  auto model = std::make_unique<SentenceEmbeddingModel>(
      config, Scorers(), *folder->pieces, ScoredPairSplits(), ModelOptions());
  EXPECT_THAT(folder->LoadWeights(BertHead::kNone, model->parameters()),
              IsOk());
  return model;
}

std::vector<float> VectorsOf(const SentenceEmbeddingModel& model) {
  SentenceEmbedder embedder(model.bert(), model.parameters(), model.pieces(),
                            model.longest(), /*threads=*/1, model.vectors());
  std::vector<float> vectors(3 * 8);
  embedder.Embed({"the cat", "an old bird sings", ""}, absl::MakeSpan(vectors));
  return vectors;
}

// Tests three kinds of pooling, with and without a Normalize module. Folders
// that Regard writes must give the same vectors again.
TEST(SentenceFolderTest, EmbeddingsMatchSentenceTransformers) {
  FileOperations files;
  const std::string folder = JoinPath(::testing::TempDir(), "sentence_folder");
  std::filesystem::remove_all(folder);
  std::filesystem::copy("pretrained/testdata/bert", folder);
  std::filesystem::create_directories(JoinPath(folder, "1_Pooling"));
  const auto write = [&](const char* name, const std::string& text) {
    EXPECT_THAT(WriteFileAtomically(JoinPath(folder, name), text, files),
                IsOk());
  };
  std::set<std::vector<float>> different;
  for (const char* mode : {"mean", "cls", "max"}) {
    std::vector<float> normalized;
    write("1_Pooling/config.json",
          absl::StrCat("{\"pooling_mode\": \"", mode, "\"}"));
    for (const bool normalize : {true, false}) {
      write("modules.json",
            absl::StrCat(
                R"([{"path": "", "type": "m.Transformer"},
                    {"path": "1_Pooling", "type": "m.Pooling"})",
                normalize ? R"(, {"path": "2", "type": "m.Normalize"})" : "",
                "]"));
      const auto model = ReadModel(folder);
      const std::vector<float> vectors = VectorsOf(*model);
      different.insert(vectors);
      if (normalize) normalized = vectors;
      for (size_t begin = 0; begin < vectors.size(); begin += 8) {
        double squares = 0;
        for (size_t i = begin; i < begin + 8; ++i) {
          squares += double{vectors[i]} * vectors[i];
        }
        if (normalize) {
          EXPECT_NEAR(squares, 1, 1e-6);
        }
        for (size_t i = begin; i < begin + 8; ++i) {
          EXPECT_NEAR(vectors[i] / std::sqrt(squares), normalized[i], 1e-6);
        }
      }
      const std::string copy =
          absl::StrCat(folder, "_", mode, normalize ? "_normalized" : "");
      std::filesystem::remove_all(copy);
      ASSERT_THAT(WriteBertFolder(*model, copy, files), IsOk());
      EXPECT_EQ(VectorsOf(*ReadModel(copy)), vectors);
      EXPECT_THAT(
          ReadPretrainedRun(copy, Scorers())->config,
          HasSubstr(normalize ? "normalize: true" : "normalize: false"));
    }
  }
  EXPECT_EQ(different.size(), 6);
}

}  // namespace
}  // namespace regard
