#include "pretrained/bert_folder.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "files/safetensors.h"
#include "nn/config_problems.h"
#include "nn/weights.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr size_t kMostProblems = 40;
constexpr char kConfig[] = "config.json";
constexpr char kWeights[] = "model.safetensors";
constexpr char kVocabulary[] = "vocab.txt";
constexpr char kTokenizerConfig[] = "tokenizer_config.json";

// What is wrong with a file, a line each.
class Problems {
 public:
  explicit Problems(const std::string& path) : path_(path) {}

  template <typename... Parts>
  void Add(const Parts&... parts) {
    lines_.push_back(absl::StrCat(path_, ": error: ", parts...));
  }
  bool empty() const { return lines_.empty(); }
  absl::Status status() {
    if (lines_.empty()) return absl::OkStatus();
    if (lines_.size() > kMostProblems) {
      const size_t more = lines_.size() - kMostProblems;
      lines_.resize(kMostProblems);
      lines_.push_back(absl::StrCat(path_, ": ", more, " more errors"));
    }
    return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
  }

 private:
  const std::string path_;
  std::vector<std::string> lines_;
};

void CheckFinite(const std::string& name, absl::Span<const float> values,
                 Problems& problems) {
  int64_t count = 0;
  size_t first = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return;
  problems.Add("tensor '", name, "' has ", count,
               " numbers that are not finite, the first at index ", first);
}

// The names in the file, by what they are canonically.
std::map<std::string, std::string> CanonicalNames(
    const SafetensorsHeader& header, Problems& problems) {
  std::map<std::string, std::string> names;
  for (const auto& [name, tensor] : header.tensors) {
    const std::string canonical = CanonicalBertName(name);
    if (canonical.empty()) continue;
    const auto [other, is_new] = names.try_emplace(canonical, name);
    if (!is_new) {
      problems.Add("tensors '", other->second, "' and '", name,
                   "' are the same parameter");
    }
  }
  return names;
}

void Collect(const absl::Status& status, std::vector<std::string>* messages) {
  if (!status.ok()) messages->emplace_back(status.message());
}

absl::Status ReadTokenizer(const std::string& folder, BertFolder* model) {
  REGARD_ASSIGN_OR_RETURN(TokenizerDescription tokenizer,
                          ReadTokenizerFiles(folder));
  const std::string vocabulary = JoinPath(folder, kVocabulary);
  absl::StatusOr<WordPiece> pieces = absl::InternalError("");
  if (!PathExists(vocabulary) && !tokenizer.tokens.empty()) {
    pieces = WordPiece::Create(std::move(tokenizer.tokens),
                               JoinPath(folder, "tokenizer.json"),
                               tokenizer.options);
  } else {
    REGARD_ASSIGN_OR_RETURN(const std::string text,
                            WithErrorPrefix(ReadFile(vocabulary)));
    pieces = WordPiece::FromText(text, vocabulary, tokenizer.options);
  }
  REGARD_RETURN_IF_ERROR(pieces.status());
  model->options = tokenizer.options;
  model->pieces = std::make_unique<const WordPiece>(*std::move(pieces));
  model->longest = tokenizer.longest;
  return absl::OkStatus();
}

// The least of those that are not 0.
int64_t Least(int64_t a, int64_t b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

struct WeightsFile {
  SafetensorsReader reader;
  std::map<std::string, std::string> names;  // as of CanonicalNames()
  Problems problems;
};

absl::StatusOr<WeightsFile> OpenWeights(const std::string& folder) {
  const std::string path = JoinPath(folder, kWeights);
  REGARD_ASSIGN_OR_RETURN(SafetensorsReader reader,
                          WithErrorPrefix(SafetensorsReader::Open(path)));
  Problems problems(path);
  std::map<std::string, std::string> names =
      CanonicalNames(reader.header(), problems);
  return WeightsFile{std::move(reader), std::move(names), std::move(problems)};
}

// Fills the parameters of a Bert that is alone in `parameters`, if they are
// finalized; otherwise checks that the file's tensors are theirs. A table of
// `vocabulary` rows may have fewer in `parameters`.
absl::Status LoadOrCheck(WeightsFile file, int64_t vocabulary,
                         ParameterStore<float>& parameters) {
  auto& [reader, names, problems] = file;
  struct Source {
    const ParameterInfo* info;
    std::string name;
    std::vector<int64_t> extents;
  };
  std::vector<Source> sources;
  for (const ParameterInfo& info : parameters.parameters()) {
    const std::string wanted = HuggingFaceBertName(info.name);
    const auto found = names.find(wanted);
    const std::string name = found == names.end() ? wanted : found->second;
    if (found != names.end()) names.erase(found);
    std::vector<int64_t> extents = Extents(info.shape);
    if (info.name == "embedding.weight") extents[0] = vocabulary;
    const absl::Status fits = reader.Check(name, extents);
    if (fits.ok()) {
      sources.push_back({&info, name, std::move(extents)});
    } else {
      problems.Add(fits.message());
    }
  }
  // With relative positions the table of absolute ones is there, unused.
  if (!parameters.FindByName("position_embedding.weight").has_value()) {
    names.erase("embeddings.position_embeddings.weight");
  }
  for (const auto& [canonical, name] : names) {
    problems.Add("tensor '", name, "' is none of this model's");
  }
  // What is there may have more faults; they are found without the model.
  const bool fits = problems.empty();
  if (fits && !parameters.finalized()) return absl::OkStatus();
  std::vector<float> scratch;
  for (const Source& source : sources) {
    const bool whole = source.extents == Extents(source.info->shape);
    absl::Span<float> values;
    if (fits)
      values = parameters.value(*parameters.FindByName(source.info->name));
    if (!fits || !whole) {
      scratch.resize(static_cast<size_t>(
          std::accumulate(source.extents.begin(), source.extents.end(),
                          int64_t{1}, std::multiplies())));
    }
    const absl::Span<float> read =
        fits && whole ? values : absl::MakeSpan(scratch);
    REGARD_RETURN_IF_ERROR(reader.Read(source.name, source.extents, read));
    CheckFinite(source.name, read, problems);
    if (fits && !whole) {
      std::copy_n(scratch.begin(), values.size(), values.begin());
    }
  }
  return problems.status();
}

absl::Status CheckModel(const AttentionRegistry& scorers, BertFolder* model) {
  REGARD_ASSIGN_OR_RETURN(WeightsFile file, OpenWeights(model->path));
  BertDescription* const description = &model->description;
  // Whole or in part.
  description->config.set_pooler(file.names.contains("pooler.dense.weight") ||
                                 file.names.contains("pooler.dense.bias"));
  ConfigProblems config_problems;
  ValidateBert(description->config, scorers, config_problems);
  if (!config_problems.ok()) {
    const ConfigProblems::Problem& first = config_problems.problems().front();
    return absl::InvalidArgumentError(
        absl::StrCat(JoinPath(model->path, kConfig), ": error: ", first.path,
                     " ", first.message));
  }
  ParameterStore<float> parameters;
  const Bert<float> bert(description->config, scorers, description->vocabulary,
                         parameters.Root());
  model->longest = Least(model->longest, bert.longest_position());
  return LoadOrCheck(std::move(file), description->vocabulary, parameters);
}

// Some models round vocab_size up to a multiple of 64 or 128, with rows that no
// token has.
bool FitsVocabulary(int64_t tokens, int64_t vocab_size) {
  const bool padded = vocab_size % 64 == 0 && tokens > vocab_size - 128;
  return tokens == vocab_size || (padded && tokens < vocab_size);
}

}  // namespace

absl::Status BertFolder::LoadWeights(ParameterStore<float>& parameters) const {
  REGARD_RETURN_IF_ERROR(parameters.status());
  REGARD_ASSIGN_OR_RETURN(WeightsFile file, OpenWeights(path));
  return LoadOrCheck(std::move(file), description.vocabulary, parameters);
}

absl::StatusOr<BertFolder> OpenBertFolder(absl::string_view path,
                                          const AttentionRegistry& scorers) {
  BertFolder model;
  model.path = ResolveUserPath(path);
  const std::string& folder = model.path;
  if (!IsDirectory(folder)) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: '", folder,
                     "' is no folder; one with config.json, "
                     "model.safetensors and vocab.txt is wanted"));
  }
  std::vector<std::string> messages;
  absl::StatusOr<BertDescription> described =
      ReadBertConfig(JoinPath(folder, kConfig));
  Collect(described.status(), &messages);
  if (described.ok()) model.description = *described;
  Collect(ReadTokenizer(folder, &model), &messages);
  const absl::StatusOr<int64_t> sentence = ReadSentenceFiles(folder);
  Collect(sentence.status(), &messages);
  if (described.ok()) Collect(CheckModel(scorers, &model), &messages);
  if (described.ok() && model.pieces != nullptr &&
      !FitsVocabulary(model.pieces->size(), model.description.vocabulary)) {
    messages.push_back(absl::StrCat(JoinPath(folder, kVocabulary),
                                    ": error: ", model.pieces->size(),
                                    " tokens, but vocab_size of ", kConfig,
                                    " is ", model.description.vocabulary));
  }
  if (!messages.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(messages, "\n"));
  }
  model.longest = Least(model.longest, *sentence);
  if (model.longest < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": error: texts are cut to ", model.longest,
                     " ids; [CLS] and [SEP] alone are 2"));
  }
  return model;
}

absl::StatusOr<PretrainedBert> ReadBertFolder(
    absl::string_view path, const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(BertFolder folder, OpenBertFolder(path, scorers));
  PretrainedBert model = {std::move(folder),
                          std::make_unique<ParameterStore<float>>(), nullptr};
  model.bert = std::make_unique<const Bert<float>>(
      model.description.config, scorers, model.description.vocabulary,
      model.parameters->Root());
  model.parameters->FinalizeWithZeros();
  REGARD_RETURN_IF_ERROR(model.LoadWeights(*model.parameters));
  return model;
}

absl::Status WriteBertFolder(const PretrainedBert& model,
                             const std::string& folder, FileOperations& files) {
  const WordPieceOptions defaults;
  if (model.options.clean_text != defaults.clean_text ||
      model.options.longest_word != defaults.longest_word) {
    return absl::InvalidArgumentError(
        "the tokeniser's clean_text or max_input_chars_per_word is not the "
        "usual one, which is all that tokenizer_config.json can say");
  }
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  const auto write = [&](const char* name, const std::string& text) {
    return WriteFileAtomically(JoinPath(folder, name), text, files);
  };
  REGARD_RETURN_IF_ERROR(write(kConfig, BertConfigText(model.description)));
  REGARD_RETURN_IF_ERROR(write(kVocabulary, model.pieces->ToText()));
  REGARD_RETURN_IF_ERROR(write(
      kTokenizerConfig, TokenizerConfigText(model.options, model.longest)));
  std::vector<TensorView> tensors =
      SlabViews(*model.parameters, model.parameters->values(), /*prefix=*/"");
  for (TensorView& tensor : tensors) {
    tensor.name = HuggingFaceBertName(tensor.name);
  }
  return WriteSafetensorsFile(JoinPath(folder, kWeights), tensors,
                              /*metadata=*/{}, files);
}

}  // namespace regard
