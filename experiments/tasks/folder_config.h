// Configs of trainings that begin with a folder of Hugging Face's
// (training.initial_weights): what they leave out is as the folder has it.
#ifndef EXPERIMENTS_TASKS_FOLDER_CONFIG_H_
#define EXPERIMENTS_TASKS_FOLDER_CONFIG_H_

#include "absl/status/status.h"
#include "attention/attention_registry.h"
#include "options/reader.h"

namespace regard {

class Experiment;

// Reads the texts of `origins` again, over what the folder that `config` names
// says of its data and model. Nothing changes if there is none. An error, of
// the folder or of a field that must be as there, is complete to print.
absl::Status ReadOverFolder(const AttentionRegistry& scorers,
                            Experiment* config, ConfigOrigins* origins);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_FOLDER_CONFIG_H_
