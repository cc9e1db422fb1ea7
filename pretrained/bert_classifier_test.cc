// Tests that Regard reads and writes a BertForSequenceClassification of
// transformers, and computes the same outputs, losses and gradients.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "data/text/labelled_text.pb.h"
#include "data/text/labelled_text_source.h"
#include "data/text/text_splits.h"
#include "data/text/wordpiece.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "language/text_classifier.h"
#include "language/text_classifier.pb.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "pretrained/bert_folder.h"
#include "pretrained/bert_format.h"
#include "pretrained/pretrained_folder.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/tensor_folder.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// tools/parity/write_bert_fixtures.py wrote the folder with transformers.
constexpr char kFolder[] = "pretrained/testdata/bert_classifier";

AttentionRegistry Scorers() {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

// Uses the tolerance of ExpectParity(), which is absolute for numbers up to 1
// and relative for larger numbers.
void ExpectNear(double got, double wanted, size_t i) {
  EXPECT_NEAR(got, wanted, 1e-5 * std::max(1.0, std::abs(wanted))) << i;
}

// Returns twenty pairs of texts. Some pairs are too long for the model, which
// truncates them.
LabelledSplits Pairs() {
  LabelledTextConfig config;
  config.set_dev_fraction(0);
  return ReadLabelledText(JoinPath(kFolder, "pairs.tsv"), config)
      .value()
      .splits;
}

TextClassifierConfig ConfigOf(const BertFolder& folder) {
  TextClassifierConfig config;
  *config.mutable_bert() = folder.description.config;
  config.mutable_bert()->mutable_masked_words()->set_block(
      static_cast<int32_t>(folder.longest));
  config.set_pooling(TextClassifierConfig::POOLER);
  config.set_dropout(folder.description.classifier_dropout);
  return config;
}

std::unique_ptr<TextClassifier> ModelOf(const TextClassifierConfig& config,
                                        const BertFolder& folder) {
  return std::make_unique<TextClassifier>(config, Scorers(), *folder.pieces,
                                          Pairs(), ModelOptions());
}

class BertClassifierTest : public ::testing::Test {
 protected:
  BertClassifierTest()
      : folder_(OpenBertFolder(kFolder, Scorers()).value()),
        model_(ModelOf(ConfigOf(folder_), folder_)) {
    EXPECT_THAT(folder_.LoadWeights(BertHead::kClasses, model_->parameters()),
                IsOk());
    std::istringstream text(ReadFile(JoinPath(kFolder, "logits.txt")).value());
    for (double number; text >> number;) expected_.push_back(number);
  }

  std::string WriteTo(const std::string& name) {
    FileOperations files;
    const std::string path = JoinPath(::testing::TempDir(), name);
    EXPECT_THAT(WriteBertFolder(*model_, path, files), IsOk());
    return path;
  }

  BertFolder folder_;
  std::unique_ptr<TextClassifier> model_;
  std::vector<double> expected_;  // 20 rows of 3 logits, and the mean loss
};

TEST_F(BertClassifierTest, LogitsMatchTransformers) {
  ASSERT_EQ(expected_.size(), 61);
  EXPECT_THAT(folder_.description.classes,
              ElementsAre("entails", "contradicts", "unrelated"));
  EXPECT_EQ(folder_.description.classifier_dropout, 0.2);
  Tape<float> tape;
  Forward<float> forward(tape, model_->parameters(), nullptr);
  const std::vector<LabelledText>& pairs = model_->data().train;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double* const logits = &expected_[3 * i];
    double sum = 0;
    for (int j = 0; j < 3; ++j) sum += std::exp(logits[j]);
    const std::vector<float> got = model_->Predict(forward, pairs[i]);
    for (int j = 0; j < 3; ++j) {
      ExpectNear(got[j], logits[j] - std::log(sum), i);
    }
  }
}

TEST_F(BertClassifierTest, LossAndGradientsMatchTransformers) {
  GradientSlab<float> gradients(model_->parameters());
  Tape<float> tape;
  Forward<float> forward(tape, model_->parameters(), &gradients);
  forward.BeginStep();
  std::vector<int64_t> examples(20);
  std::iota(examples.begin(), examples.end(), 0);
  std::vector<double> denominators(1);
  std::vector<Var<float>> sums(1);
  model_->Denominators(examples, absl::MakeSpan(denominators));
  model_->Loss(forward, examples, denominators, absl::MakeSpan(sums));
  EXPECT_NEAR(sums[0].item() / 20, expected_.back(), 1e-5);
  const double seeds[] = {1.0 / 20};
  forward.Backward(sums, seeds);
  // Loads the gradients of transformers into the parameters of another model.
  // They then have the same order as the gradients of Regard.
  const auto theirs = ModelOf(ConfigOf(folder_), folder_);
  const auto tensors = PretrainedWeights::Open(
      JoinPath(kFolder, "gradients"),
      BertWeights(folder_.description, BertHead::kClasses));
  ASSERT_THAT(tensors, IsOk());
  ASSERT_THAT(tensors->Load(theirs->parameters()), IsOk());
  const absl::Span<const float> wanted = theirs->parameters().values();
  double greatest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ExpectNear(gradients.values()[i], wanted[i], i);
    greatest = std::max(greatest, std::abs(static_cast<double>(wanted[i])));
  }
  EXPECT_GT(greatest, 0.1);
}

TEST_F(BertClassifierTest, IsReadAsItWasWritten) {
  const std::string path = WriteTo("written");
  const auto read = OpenBertFolder(path, Scorers());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->description.classes, folder_.description.classes);
  EXPECT_EQ(read->description.classifier_dropout, 0.2);
  EXPECT_EQ(read->longest, 16);
  EXPECT_EQ(read->pieces->ToText(), folder_.pieces->ToText());
  const auto again = ModelOf(ConfigOf(*read), *read);
  ASSERT_THAT(read->LoadWeights(BertHead::kClasses, again->parameters()),
              IsOk());
  EXPECT_TRUE(std::ranges::equal(again->parameters().values(),
                                 model_->parameters().values()));
  // The tensors must have the same names as in the fixture. transformers reads
  // these names without a warning.
  const TensorFolder tensors = TensorFolder::Open(path).value();
  const TensorFolder wanted = TensorFolder::Open(kFolder).value();
  for (const auto& [name, file] : wanted.tensors()) {
    EXPECT_EQ(tensors.tensors().count(name), 1) << name;
  }
  EXPECT_EQ(tensors.tensors().size(), wanted.tensors().size());
}

TEST_F(BertClassifierTest, NamesItsPaddingIfItHasOne) {
  const auto texts = [](const std::string& path) {
    return ReadFile(JoinPath(path, "config.json")).value() +
           ReadFile(JoinPath(path, "tokenizer_config.json")).value();
  };
  EXPECT_THAT(texts(WriteTo("padding")),
              AllOf(HasSubstr("\"pad_token_id\": 0"),
                    HasSubstr("\"pad_token\": \"[PAD]\"")));
  folder_.pieces = std::make_unique<const WordPiece>(
      WordPiece::Parse(
          absl::StrReplaceAll(folder_.pieces->ToText(), {{"[PAD]", "[EMPTY]"}}),
          "vocab.txt", folder_.options)
          .value());
  model_ = ModelOf(ConfigOf(folder_), folder_);
  EXPECT_THAT(texts(WriteTo("no_padding")),
              AllOf(HasSubstr("\"pad_token_id\": null"),
                    HasSubstr("\"pad_token\": null")));
}

TEST_F(BertClassifierTest, RejectsModelsThatTransformersLacks) {
  const auto error_of = [&](const TextClassifierConfig& config) {
    FileOperations files;
    return std::string(WriteBertFolder(*ModelOf(config, folder_),
                                       JoinPath(::testing::TempDir(), "none"),
                                       files)
                           .message());
  };
  TextClassifierConfig config = ConfigOf(folder_);
  config.set_pooling(TextClassifierConfig::MEAN);
  EXPECT_THAT(error_of(config), HasSubstr("pooling must be POOLER"));
  config = ConfigOf(folder_);
  config.mutable_bert()->mutable_transformer()->set_norm_order(
      TransformerConfig::PRE);
  EXPECT_THAT(error_of(config), HasSubstr("norm_order"));
}

TEST_F(BertClassifierTest, IsAClassifierRunWithItsClasses) {
  const auto run = ReadPretrainedRun(kFolder, Scorers());
  ASSERT_THAT(run, IsOk());
  EXPECT_THAT(run->config, HasSubstr("text_classifier {"));
  EXPECT_THAT(run->config, HasSubstr("pooling: POOLER"));
  EXPECT_EQ(run->files.at("labels.txt"), "entails\ncontradicts\nunrelated\n");
  // A classifier for other classes must keep the values of its own head.
  const auto other = ModelOf(ConfigOf(folder_), folder_);
  std::vector<std::string> kept;
  ASSERT_THAT(run->load_for_task("a\nb\nc\n", other->parameters(), &kept),
              IsOk());
  EXPECT_THAT(kept, ElementsAre("classifier.weight", "classifier.bias"));
}

TEST_F(BertClassifierTest, NamesWhatIsWrongWithItsConfig) {
  const std::string path = WriteTo("wrong");
  const std::string config = JoinPath(path, "config.json");
  const std::string text = ReadFile(config).value();
  const auto error_of = [&](const std::string& from, const std::string& to) {
    EXPECT_THAT(text, HasSubstr(from));
    FileOperations files;
    EXPECT_THAT(WriteFileAtomically(
                    config, absl::StrReplaceAll(text, {{from, to}}), files),
                IsOk());
    return std::string(OpenBertFolder(path, Scorers()).status().message());
  };
  EXPECT_THAT(error_of("single_label", "multi_label"),
              HasSubstr("config.json:20:19: error: problem_type must be one of "
                        "single_label_classification"));
  EXPECT_THAT(error_of("\"2\": \"unrelated\"", "\"3\": \"unrelated\""),
              HasSubstr("the id '3' must be from 0 to 2"));
  EXPECT_THAT(
      error_of(",\n    \"2\": \"unrelated\"", ""),
      HasSubstr(
          "tensor 'classifier.weight' is F32 [3, 8]; expected F32 [2, 8]"));
  // Without id2label, num_labels is the number of classes.
  EXPECT_EQ(error_of("\"id2label\"", "\"num_labels\": 3, \"names\""), "");
  EXPECT_THAT(error_of("\"id2label\"", "\"num_labels\": 4, \"names\""),
              HasSubstr("F32 [3, 8]; expected F32 [4, 8]"));
  EXPECT_THAT(
      error_of("\"classifier_dropout\": 0.2", "\"classifier_dropout\": 1"),
      HasSubstr("classifier_dropout must be"));
}

}  // namespace
}  // namespace regard
