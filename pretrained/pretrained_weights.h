// Loads the weights of a Hugging Face model folder into parameters, and writes
// them. Loading and writing use one table of names per architecture:
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

// Parameters of Regard, and the tensors that contain them.
//
// If several rows name one parameter, only the tensor of the first row is
// written. A folder must contain at least one of these tensors. If it contains
// several, they must be equal. If `ours` is an alias (tied weights), its tensor
// is optional and never written.
struct WeightMapping {
  // The name of a parameter. "*" stands for any one part between dots.
  std::string ours;
  // The name of the tensor. Its i-th star stands for the same part as the i-th
  // star of `ours`.
  std::string theirs;
  // Whether the tensor has the shape [inputs, outputs], although the parameter
  // has the shape [outputs, inputs].
  bool transposed = false;
  // The tensor consists of `parts` equal parts along the outputs. The parameter
  // is the part with index `part`, from 0 to parts - 1.
  int part = 0;
  int parts = 1;
  // The number of rows of the tensor. 0 means the number of rows of the
  // parameter. If the parameter has fewer rows than the tensor, only its first
  // rows are read.
  int64_t rows = 0;
  // The shape of the tensor, if neither the parameter nor the fields above
  // determine it. Tensor and parameter have the same order of elements.
  std::vector<int64_t> shape = {};
  // Whether the parameter belongs to a task. If the caller of Load() allows
  // parameters to keep their values, the tensor may be absent or have another
  // shape.
  bool of_task = false;
  // Whether the tensor is written. False if the model in the `transformers`
  // library lacks the tensor. The parameter must then not affect the outputs of
  // Regard's model.
  bool written = true;
};

struct WeightTable {
  std::vector<WeightMapping> names;
  // A prefix that is optional in all names, in files and in this table.
  std::string prefix = {};
  // Name endings in older files, each with its replacement, such as {".gamma",
  // ".weight"}.
  std::vector<std::pair<std::string, std::string>> old_endings = {};
  // The names of tensors that are ignored, without the prefix. At the end of a
  // name, "**" matches any number of parts.
  std::vector<std::string> ignored = {};
};

// The weights of a folder, with open files. Move-only.
class PretrainedWeights {
 public:
  // Opens the weights of a folder. The error messages of this class are meant
  // for users and list all problems:
  //
  // * tensors that are missing, unexpected, or of another shape or type,
  // * numbers that are not finite.
  static absl::StatusOr<PretrainedWeights> Open(const std::string& folder,
                                                WeightTable table);

  // Returns whether the folder has a tensor with this name, with or without the
  // prefix, and with a new or an old ending.
  bool Has(absl::string_view theirs) const;

  // Checks that the tensors match `parameters`, which may have no values yet.
  absl::Status Check(const ParameterStore<float>& parameters) const;

  // Fills finalized parameters. It is an error if the table lacks a parameter,
  // or if a parameter of a task has no matching tensor. If `kept` is not null,
  // these parameters keep their values instead, and their names are appended to
  // `kept`.
  absl::Status Load(ParameterStore<float>& parameters,
                    std::vector<std::string>* kept = nullptr) const;

 private:
  class Plan;

  PretrainedWeights(TensorFolder tensors, WeightTable table)
      : tensors_(std::move(tensors)), table_(std::move(table)) {}

  std::string NormalizeTensorName(absl::string_view theirs) const;

  TensorFolder tensors_;
  WeightTable table_;
  // The tensors that are not ignored, by name without the prefix and old
  // endings. A name has several entries if a file contains it with different
  // spellings.
  std::multimap<std::string, std::string> names_;
};

// Writes the parameters as model.safetensors. Returns InvalidArgument for a
// parameter that the table lacks. Uses additional memory only for tensors that
// are transposed or joined.
absl::Status WritePretrainedWeights(const WeightTable& table,
                                    const ParameterStore<float>& parameters,
                                    const std::string& folder,
                                    FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_PRETRAINED_WEIGHTS_H_
