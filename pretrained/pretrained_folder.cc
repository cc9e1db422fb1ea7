#include "pretrained/pretrained_folder.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/images/image_set.h"
#include "data/images/images.pb.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece_config.h"
#include "files/file.h"
#include "files/json_file.h"
#include "google/protobuf/text_format.h"
#include "language/masked_text.h"
#include "language/text_classifier.pb.h"
#include "language/text_embedder.h"
#include "language/text_embedder.pb.h"
#include "language/text_vocabulary.h"
#include "pretrained/bert_folder.h"
#include "pretrained/blip_folder.h"
#include "pretrained/gpt2_folder.h"
#include "pretrained/vit_folder.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// A classifier of texts, all of which are a test.
absl::StatusOr<std::string> ClassifierText(const BertFolder& folder) {
  TextClassifierConfig config;
  *config.mutable_bert() = folder.description.config;
  MaskedWordsConfig& tokens = *config.mutable_bert()->mutable_masked_words();
  tokens.set_vocabulary(JoinPath(folder.path, kVocabularyFile));
  tokens.set_lower_case(folder.options.lower_case);
  tokens.set_block(static_cast<int32_t>(folder.longest));
  const WordPieceConfig said = TokensOf(TokenOptions(tokens));
  const WordPieceConfig wanted = TokensOf(folder.options);
  if (said.SerializeAsString() != wanted.SerializeAsString()) {
    return absl::InvalidArgumentError(absl::StrCat(
        folder.path, ": error: a classifier cannot cut texts as its tokeniser ",
        "does, but for lower case: ", wanted.ShortDebugString()));
  }
  config.set_pooling(TextClassifierConfig::POOLER);
  config.set_dropout(folder.description.classifier_dropout);
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return absl::StrCat(
      "data { labelled_text { dev_fraction: 0 test_fraction: 1 } }\n"
      "model { text_classifier {\n",
      text, "} }\n");
}

// A model that makes vectors of texts, which all of a file of pairs measure.
std::string EmbedderText(const BertFolder& folder) {
  TextEmbedderConfig config;
  *config.mutable_bert() = folder.description.config;
  *config.mutable_tokens() = TokensOf(folder.options);
  config.set_longest(static_cast<int32_t>(folder.longest));
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return absl::StrCat(
      "data { scored_pairs { dev_fraction: 0 test_fraction: 1 } }\n"
      "model { text_embedder {\n",
      text, "} }\n");
}

// Classes belong to a task: a classifier of others begins with the encoder.
absl::StatusOr<PretrainedFolder> ReadBert(const std::string& path,
                                          const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(BertFolder opened, OpenBertFolder(path, scorers));
  const auto folder = std::make_shared<const BertFolder>(std::move(opened));
  const std::vector<std::string>& classes = folder->description.classes;
  absl::StatusOr<std::string> config =
      classes.empty() ? EmbedderText(*folder) : ClassifierText(*folder);
  REGARD_RETURN_IF_ERROR(config.status());
  std::map<std::string, std::string> files = {
      {kVocabularyFile, folder->pieces->ToText()}};
  if (!classes.empty()) {
    files[kLabelsFile] = absl::StrCat(absl::StrJoin(classes, "\n"), "\n");
  }
  return PretrainedFolder{
      .config = *std::move(config),
      .files = std::move(files),
      .load_weights =
          [folder](ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            const bool head = !folder->description.classes.empty() &&
                              parameters.FindByName("classifier.weight");
            return folder->LoadWeights(head, parameters, kept);
          },
      .task_file = kLabelsFile,
      .load_for_task =
          [folder](absl::string_view, ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            return folder->LoadWeights(/*head=*/false, parameters, kept);
          }};
}

// A language model, for which all of a text is a test.
absl::StatusOr<PretrainedFolder> ReadGpt2(const std::string& path,
                                          const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(Gpt2Folder opened, OpenGpt2Folder(path, scorers));
  const auto folder = std::make_shared<const Gpt2Folder>(std::move(opened));
  std::string text;
  google::protobuf::TextFormat::PrintToString(folder->config, &text);
  return PretrainedFolder{
      .config =
          absl::StrCat("data { text { dev_fraction: 0 test_fraction: 1 } }\n"
                       "model { language_model {\n",
                       text, "} }\n"),
      .files = {{kBytePairsFile, folder->pairs->ToText()}},
      .load_weights = [folder](ParameterStore<float>& parameters,
                               std::vector<std::string>* kept) {
        return folder->LoadWeights(parameters, kept);
      }};
}

// A captioner. All images of a list are a test; sentences have at most 20
// tokens after the prompt that BLIP was trained with.
absl::StatusOr<PretrainedFolder> ReadBlip(const std::string& path,
                                          const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(BlipFolder opened, OpenBlipFolder(path, scorers));
  const auto folder = std::make_shared<const BlipFolder>(std::move(opened));
  std::string format;
  std::string model;
  google::protobuf::TextFormat::PrintToString(folder->description.images,
                                              &format);
  google::protobuf::TextFormat::PrintToString(folder->description.config,
                                              &model);
  return PretrainedFolder{
      .config = absl::StrCat(
          "data { captions { list: '' dev_fraction: 0 test_fraction: 1\n"
          "format {\n",
          format, "} } }\nmodel { captioner {\n", model,
          "} }\nsearch { max_length_ratio: 0 max_length: 21 }\n"),
      .files = {{kVocabularyFile, folder->tokenizer.pieces->ToText()}},
      .load_weights = [folder](ParameterStore<float>& parameters,
                               std::vector<std::string>* kept) {
        return folder->LoadWeights(parameters, kept);
      }};
}

// A classifier of images, all of which are a test.
absl::StatusOr<PretrainedFolder> ReadVit(const std::string& path,
                                         VitNames names,
                                         const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(VitFolder opened,
                          OpenVitFolder(path, names, scorers));
  const auto folder = std::make_shared<const VitFolder>(std::move(opened));
  const VitDescription& description = folder->description;
  ImagesConfig images;
  images.set_dev_fraction(0);
  images.set_test_fraction(1);
  *images.mutable_format() = description.format;
  std::string data;
  std::string model;
  google::protobuf::TextFormat::PrintToString(images, &data);
  google::protobuf::TextFormat::PrintToString(description.config, &model);
  return PretrainedFolder{
      .config =
          absl::StrCat("data { images {\n", data,
                       "} }\nmodel { vision_transformer {\n", model, "} }\n"),
      .files = {{kClassesFile,
                 absl::StrCat(absl::StrJoin(description.classes, "\n"), "\n")}},
      .load_weights =
          [folder](ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            return folder->LoadWeights(parameters, kept);
          },
      .task_file = kClassesFile,
      .load_for_task =
          [folder](absl::string_view text, ParameterStore<float>& parameters,
                   std::vector<std::string>* kept) {
            absl::ConsumeSuffix(&text, "\n");
            return folder->LoadForClasses(absl::StrSplit(text, '\n'),
                                          parameters, kept);
          }};
}

absl::StatusOr<PretrainedFolder> ReadTransformersVit(
    const std::string& path, const AttentionRegistry& scorers) {
  return ReadVit(path, VitNames::kTransformers, scorers);
}

constexpr struct {
  absl::string_view model_type;  // of config.json
  absl::StatusOr<PretrainedFolder> (*read)(const std::string& path,
                                           const AttentionRegistry& scorers);
} kArchitectures[] = {
    {"bert", &ReadBert},
    {"blip", &ReadBlip},
    {"gpt2", &ReadGpt2},
    {"vit", &ReadTransformersVit},
};

std::string ConfigOf(const std::string& folder) {
  return JoinPath(folder, "config.json");
}

}  // namespace

bool HoldsPretrained(const std::string& folder) {
  return PathExists(ConfigOf(folder));
}

absl::StatusOr<PretrainedFolder> ReadPretrainedFolder(
    const std::string& folder, const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(ConfigOf(folder)));
  if (!file.root().Has("model_type") && file.root().Has("architecture")) {
    return ReadVit(folder, VitNames::kTimm, scorers);
  }
  std::vector<absl::string_view> known;
  for (const auto& architecture : kArchitectures) {
    known.push_back(architecture.model_type);
  }
  // Old folders of BERT do not say that they are.
  const size_t type = file.root().Choice("model_type", known, 0);
  REGARD_RETURN_IF_ERROR(file.status());
  return kArchitectures[type].read(folder, scorers);
}

}  // namespace regard
