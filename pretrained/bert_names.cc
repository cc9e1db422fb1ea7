#include "pretrained/bert_names.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace regard {

namespace {

// Beginnings of names, or of what follows "layers.I."; the first that fits.
struct Renamed {
  const char* ours;
  const char* theirs;
};

constexpr Renamed kOutside[] = {
    {"embedding.", "embeddings.word_embeddings."},
    {"position_embedding.", "embeddings.position_embeddings."},
    {"type_embedding.", "embeddings.token_type_embeddings."},
    {"embedding_norm.", "embeddings.LayerNorm."},
    {"pooler.", "pooler.dense."},
};

constexpr Renamed kOfLayer[] = {
    {"attention.output.", "attention.output.dense."},
    {"attention.score.distance_embedding",
     "attention.self.distance_embedding.weight"},
    {"attention.", "attention.self."},
    {"attention_norm.", "attention.output.LayerNorm."},
    {"feed_forward.input.", "intermediate.dense."},
    {"feed_forward.output.", "output.dense."},
    {"feed_forward_norm.", "output.LayerNorm."},
};

template <size_t kCount>
std::string Rename(const Renamed (&table)[kCount], absl::string_view name) {
  for (const Renamed& entry : table) {
    absl::string_view rest = name;
    if (absl::ConsumePrefix(&rest, entry.ours)) {
      return absl::StrCat(entry.theirs, rest);
    }
  }
  return std::string(name);
}

}  // namespace

std::string HuggingFaceBertName(absl::string_view name) {
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "layers.")) return Rename(kOutside, name);
  const size_t dot = rest.find('.');
  if (dot == absl::string_view::npos) return std::string(name);
  return absl::StrCat("encoder.layer.", rest.substr(0, dot + 1),
                      Rename(kOfLayer, rest.substr(dot + 1)));
}

std::string CanonicalBertName(absl::string_view name) {
  for (const char* head : {"cls.", "classifier.", "qa_outputs."}) {
    if (absl::StartsWith(name, head)) return "";
  }
  absl::ConsumePrefix(&name, "bert.");
  if (name == "embeddings.position_ids") return "";
  if (absl::ConsumeSuffix(&name, ".gamma"))
    return absl::StrCat(name, ".weight");
  if (absl::ConsumeSuffix(&name, ".beta")) return absl::StrCat(name, ".bias");
  return std::string(name);
}

}  // namespace regard
