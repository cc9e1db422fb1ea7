#include "pretrained/gpt2_folder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/text/added_tokens.h"
#include "data/text/byte_level.h"
#include "nlohmann/json.hpp"
#include "options/config_problems.h"
#include "pretrained/gpt2_config.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/vocabulary_size.h"
#include "seq2seq/transformer_decoder.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kConfig[] = "config.json";

// Returns the table of tensor names. `rows` is the number of rows of the token
// embedding in the folder. 0 means the number of rows of the parameter.
WeightTable Gpt2Weights(int64_t rows) {
  WeightTable table = {
      .names = {{.ours = "embedding.weight",
                 .theirs = "transformer.wte.weight",
                 .rows = rows},
                {"position_embedding.weight", "transformer.wpe.weight"},
                {"norm.*", "transformer.ln_f.*"},
                {.ours = "output.weight",
                 .theirs = "lm_head.weight",
                 .rows = rows}},
      .prefix = "transformer.",
      // Attention masks in older files, and the heads of other tasks.
      .ignored = {"h.*.attn.bias", "h.*.attn.masked_bias", "score.**",
                  "multiple_choice_head.**"}};
  constexpr struct {
    const char* ours;
    const char* theirs;
    bool is_map = false;  // stored as [inputs, outputs]
    int part = 0;
    int parts = 1;
  } kOfLayer[] = {{"attention_norm.*", "ln_1.*"},
                  {"attention.query.*", "attn.c_attn.*", true, 0, 3},
                  {"attention.key.*", "attn.c_attn.*", true, 1, 3},
                  {"attention.value.*", "attn.c_attn.*", true, 2, 3},
                  {"attention.output.*", "attn.c_proj.*", true},
                  {"feed_forward_norm.*", "ln_2.*"},
                  {"feed_forward.input.*", "mlp.c_fc.*", true},
                  {"feed_forward.output.*", "mlp.c_proj.*", true}};
  for (const auto& line : kOfLayer) {
    table.names.push_back(
        {.ours = absl::StrCat("layers.*.", line.ours),
         .theirs = absl::StrCat("transformer.h.*.", line.theirs),
         .transposed = line.is_map,
         .part = line.part,
         .parts = line.parts});
  }
  return table;
}

// Returns the token with the given id, or an error if several tokens have the
// same text. Empty if there is no such token.
absl::StatusOr<std::string> TokenOf(const BytePairs& pairs,
                                    std::optional<int64_t> id, const char* key,
                                    const std::string& path) {
  std::string token;
  if (!id.has_value() || *id >= pairs.size()) return token;
  pairs.AppendBytes(static_cast<int32_t>(*id), &token);
  if (pairs.Find(token) == static_cast<int32_t>(*id)) return token;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: ", key, " is ", *id, ", but its token '",
                   absl::Utf8SafeCHexEscape(token),
                   "' also has another id; each token must have only one"));
}

absl::Status CheckModel(const AttentionRegistry& scorers,
                        const Gpt2Folder& model) {
  const std::string path = JoinPath(model.path, kConfig);
  ConfigProblems problems;
  ValidateLanguageModel(model.config, scorers, problems);
  if (!problems.ok()) {
    const ConfigProblems::Problem& first = problems.problems().front();
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": error: ", first.path, " ", first.message));
  }
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(model.path, Gpt2Weights(model.vocabulary)));
  ParameterStore<float> parameters;
  const TransformerDecoder<float> decoder(model.config.transformer(), scorers,
                                          {.vocabulary = model.vocabulary},
                                          parameters.Root());
  return weights.Check(parameters);
}

}  // namespace

absl::Status Gpt2Folder::LoadWeights(ParameterStore<float>& parameters,
                                     std::vector<std::string>* kept) const {
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(path, Gpt2Weights(vocabulary)));
  return weights.Load(parameters, kept);
}

absl::StatusOr<Gpt2Folder> OpenGpt2Folder(absl::string_view path,
                                          const AttentionRegistry& scorers) {
  Gpt2Folder model;
  model.path = ResolveUserPath(path);
  const std::string config_path = JoinPath(model.path, kConfig);
  std::vector<std::string> messages;
  const auto collect = [&](const absl::Status& status) {
    if (!status.ok()) messages.emplace_back(status.message());
  };
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(config_path)));
  const absl::StatusOr<Gpt2Description> described =
      ReadGpt2Config(text, config_path);
  collect(described.status());
  absl::StatusOr<BytePairs> pairs = ReadBytePairs(model.path);
  collect(pairs.status());
  LanguageModelConfig& config = model.config;
  config.set_unit(LanguageModelConfig::BYTE_PAIRS);
  config.mutable_tokens()->set_folder(model.path);
  if (described.ok() && pairs.ok()) {
    collect(
        CheckVocabularySize(model.path, pairs->size(), described->vocabulary));
    const auto begin =
        TokenOf(*pairs, described->begin, "bos_token_id", config_path);
    collect(begin.status());
    config.mutable_tokens()->set_begin(begin.value_or(""));
    const auto end =
        TokenOf(*pairs, described->end, "eos_token_id", config_path);
    collect(end.status());
    config.mutable_tokens()->set_end(end.value_or(""));
  }
  if (described.ok()) {
    *config.mutable_transformer() = described->transformer;
    config.set_block(config.transformer().position_embedding().longest());
    model.vocabulary = described->vocabulary;
    collect(CheckModel(scorers, model));
  }
  if (!messages.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(messages, "\n"));
  }
  model.pairs = *std::move(pairs);
  return model;
}

namespace {

// Returns whether tokenizer_config.json can name the token. It can if the
// vocabulary spells the token as its text. It cannot name, for example, " the"
// or bytes that are not text.
bool HasName(absl::string_view token, const BytePairs& pairs) {
  return SpellBytes(token) == token ||
         std::ranges::any_of(
             pairs.added_tokens(),
             [&](const AddedToken& added) { return added.text == token; });
}

std::string TokenizerConfigText(const BytePairsConfig& tokens,
                                const BytePairs& pairs, int64_t block) {
  nlohmann::ordered_json json;
  json["tokenizer_class"] = "GPT2Tokenizer";
  json["model_max_length"] = block;
  json["add_prefix_space"] = false;
  json["errors"] = "replace";
  // The fields are written even without a token, because transformers would use
  // <|endoftext|> for missing fields. config.json contains the ids.
  for (const auto& [key, token] : {std::pair("bos_token", &tokens.begin()),
                                   std::pair("eos_token", &tokens.end())}) {
    json[key] = nullptr;
    if (!token->empty() && HasName(*token, pairs)) json[key] = *token;
  }
  json["unk_token"] = nullptr;
  return json.dump(2) + "\n";
}

}  // namespace

absl::Status WriteGpt2Folder(const LanguageModelConfig& config,
                             const LanguageModel& model,
                             const std::string& folder, FileOperations& files) {
  const BytePairs* const pairs = model.vocabulary().pairs();
  if (pairs == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: GPT-2 requires subwords (unit: BYTE_PAIRS); this model reads ",
        model.vocabulary().unit_name()));
  }
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          Gpt2ConfigText(config, *pairs));
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  const auto write = [&](const char* name, const std::string& content) {
    return WriteFileAtomically(JoinPath(folder, name), content, files);
  };
  REGARD_RETURN_IF_ERROR(write("tokenizer.json", pairs->ToText()));
  REGARD_RETURN_IF_ERROR(
      write("tokenizer_config.json",
            TokenizerConfigText(config.tokens(), *pairs, config.block())));
  REGARD_RETURN_IF_ERROR(WritePretrainedWeights(
      Gpt2Weights(/*rows=*/0), model.parameters(), folder, files));
  return write(kConfig, text);
}

}  // namespace regard
