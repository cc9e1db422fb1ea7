// An experiment's model together with its data: all that the trainer knows.
#ifndef EXPERIMENTS_TASK_H_
#define EXPERIMENTS_TASK_H_

#include <map>
#include <string>
#include <vector>

#include "experiments/report/run_results.h"
#include "nn/config_problems.h"
#include "nn/forward.h"
#include "nn/model.h"

namespace regard {

// What a run shows of its result besides numbers.
struct Showcase {
  std::vector<Plot> plots;
  std::vector<LabelledMatrix> heat_maps;  // the first is drawn in the terminal
  std::vector<TranslationSample> samples;
  // What to compare a metric with, by its prefixed name: "diagonal: 0.41".
  std::map<std::string, std::string> notes;
  // One sentence on what the task is.
  std::string summary;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual Model<float>& model() = 0;

  // Adds what in the config does not fit the data that was read, under paths
  // relative to the experiment.
  virtual void Validate(ConfigProblems& /*problems*/) const {}

  // `forward` has no gradients.
  virtual Showcase Show(Forward<float>& forward) const = 0;

  // What the model looked at for some results, and how much that mattered;
  // nothing for a task whose weights its heat maps tell all about.
  virtual std::vector<Explanation> Explain() const { return {}; }

  // Texts that using the model later needs, by their name in the run folder:
  // vocabularies.
  virtual std::map<std::string, std::string> Files() const = 0;

  // SHA-256 of each data file, by the name that the config gives it.
  virtual std::map<std::string, std::string> DataDigests() const = 0;
};

}  // namespace regard

#endif  // EXPERIMENTS_TASK_H_
