#include "experiments/sweep/cell_key.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/ablation/grid.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/environment.h"
#include "files/file.h"
#include "files/sha256.h"
#include "options/config_fields.h"
#include "options/reader.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr char kInitialWeights[] = "training.initial_weights";

// Whether the key contains the digest of the content instead of the path in
// `field`. The keys of `data` are fields, some of them followed by a file name.
bool CountsByContent(const std::string& field,
                     const std::map<std::string, std::string>& data) {
  if (field == absl::StrCat(kInitialWeights, ".run")) {
    return data.count(kInitialWeights) > 0;
  }
  return std::ranges::any_of(data, [&](const auto& digest) {
    return digest.first == field ||
           absl::StartsWith(digest.first, absl::StrCat(field, "/"));
  });
}

bool HasNoEffect(absl::string_view field) {
  return IsAnnotation(field) || field == "training.max_minutes" ||
         IsWithin(field, "baseline");
}

}  // namespace

std::string CellKey::Digest() const {
  return Sha256Hex(absl::StrCat("config ", config, "\ndata ", data,
                                "\nprogram ", program, "\n"));
}

CellKey MakeCellKey(const Experiment& config,
                    const std::map<std::string, std::string>& data,
                    const std::string& level,
                    const std::string& compute_digest) {
  Sha256 fields;
  for (const ResolvedField& field : ResolvedFields(config)) {
    if (HasNoEffect(field.path)) continue;
    fields.Update(absl::StrCat(
        field.path, "=",
        CountsByContent(field.path, data) ? "by content" : field.value, "\n"));
  }
  Sha256 contents;
  for (const auto& [name, digest] : data) {
    contents.Update(absl::StrCat(name, ": ", digest, "\n"));
  }
  return {.config = fields.HexDigest(),
          .data = contents.HexDigest(),
          .program = Sha256Hex(absl::StrCat(level, "\n", compute_digest))};
}

absl::StatusOr<CellKey> KeyOfRun(const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(const Environment environment,
                          ReadRunDigests(run_folder));
  const std::string& compute = environment.provenance.compute_digest;
  if (compute.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(run_folder,
                     ": environment.json does not name one program that "
                     "computed the whole run"));
  }
  Experiment config;
  REGARD_RETURN_IF_ERROR(
      ReadConfig({JoinPath(run_folder, "resolved.textproto"), {}}, {}, &config)
          .status());
  return MakeCellKey(config, environment.data, environment.instruction_set,
                     compute);
}

}  // namespace regard
