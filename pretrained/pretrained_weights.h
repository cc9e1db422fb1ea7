// The weights of a folder of Hugging Face's as parameters of a model, by a
// table of names: one for each architecture, for reading and for writing.
//
//   const WeightTable table = {
//       .names = {{.ours = "embedding.weight", .theirs = "wte.weight"},
//                 {.ours = "layers.*.attention.query.*",
//                  .theirs = "h.*.attn.c_attn.*",
//                  .transposed = true, .part = 0, .parts = 3}},
//       .prefix = "transformer.",
//       .ignored = {"h.*.attn.bias", "score.**"}};
//   REGARD_ASSIGN_OR_RETURN(PretrainedWeights weights,
//                           PretrainedWeights::Open(folder, table));
//   REGARD_RETURN_IF_ERROR(weights.Load(parameters));
#ifndef PRETRAINED_PRETRAINED_WEIGHTS_H_
#define PRETRAINED_PRETRAINED_WEIGHTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "nn/parameters.h"
#include "pretrained/tensor_folder.h"

namespace regard {

// Parameters of ours, and the tensors that hold them. Of several lines for one
// parameter, the first is written; of their tensors, one has to be there, and
// all that are must hold the same numbers. Where `ours` is an alias (tied
// weights), theirs need not be there, and is not written.
struct WeightName {
  // Parts between dots, of which "*" is any one: that of theirs is the one at
  // the same place among the stars.
  std::string ours;
  std::string theirs;
  // Of a matrix, ours [outputs, inputs]: theirs is [inputs, outputs].
  bool transposed = false;
  // Ours is part 0 .. parts - 1 of theirs, cut along the outputs.
  int part = 0;
  int parts = 1;
  // Rows of theirs, of which ours are the first. 0: as many as ours.
  int64_t rows = 0;
  // The shape of theirs, where it is neither that of ours nor follows from the
  // fields above: the same numbers in the same order.
  std::vector<int64_t> shape = {};
  // Belongs to a task: may be absent or of another shape where the caller of
  // Load() allows parameters to keep their values.
  bool of_task = false;
  // Whether it is written. What their model does not have would be unexpected
  // there; no output of ours may depend on it.
  bool written = true;
};

struct WeightTable {
  std::vector<WeightName> names;
  // Names in files and in this table may begin with it or not.
  std::string prefix = {};
  // Endings in older files, and what they are now: {".gamma", ".weight"}.
  std::vector<std::pair<std::string, std::string>> old_endings = {};
  // Tensors of which nothing is lost, without the prefix; a last part "**" is
  // any number of parts.
  std::vector<std::string> ignored = {};
};

// Open files. Move-only.
class PretrainedWeights {
 public:
  // Errors of this class are complete to print. They name all that is wrong
  // with the tensors: those that are missing, left over, of another shape or
  // type, and numbers that are not finite.
  static absl::StatusOr<PretrainedWeights> Open(const std::string& folder,
                                                WeightTable table);

  // Whether there is a tensor of that name, as the table would have it.
  bool Has(absl::string_view theirs) const;

  // Whether the tensors are those of `parameters`, which may have no values.
  absl::Status Check(const ParameterStore<float>& parameters) const;

  // Fills finalized parameters. With `kept`, those that the table does not
  // know, and those of a task that are not there, keep their values, and their
  // names are appended to it; else each is an error.
  absl::Status Load(ParameterStore<float>& parameters,
                    std::vector<std::string>* kept = nullptr) const;

 private:
  class Plan;

  PretrainedWeights(TensorFolder tensors, WeightTable table)
      : tensors_(std::move(tensors)), table_(std::move(table)) {}

  std::string Canonical(absl::string_view theirs) const;

  TensorFolder tensors_;
  WeightTable table_;
  // What is in the files and not ignored, by the name without prefix and old
  // endings: several where a file has one under two names.
  std::multimap<std::string, std::string> names_;
};

// Writes the parameters as model.safetensors, by the same table, which knows
// each of them: InvalidArgument for one that it does not. Takes memory for what
// is transposed or part of another tensor.
absl::Status WritePretrainedWeights(const WeightTable& table,
                                    const ParameterStore<float>& parameters,
                                    const std::string& folder,
                                    FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_PRETRAINED_WEIGHTS_H_
