// The workload of searching for texts with a model, such as translations. Each
// thread searches for the texts of some of the inputs.
#ifndef TOOLS_PEERS_SEARCH_WORK_H_
#define TOOLS_PEERS_SEARCH_WORK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "autodiff/worker_pool.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoding/search.h"
#include "tools/peers/timed_work.h"

namespace regard {

class SearchedModel {
 public:
  virtual ~SearchedModel() = default;

  virtual ParameterStore<float>& parameters() = 0;

  // Returns the hypotheses for the inputs [begin, end), best first.
  virtual std::vector<std::vector<Hypothesis>> FindHypotheses(
      Forward<float>& forward, size_t begin, size_t end) const = 0;
};

class SearchWork : public TimedWork {
 public:
  SearchWork(std::unique_ptr<SearchedModel> model, int64_t sources,
             int threads);
  ~SearchWork() override;

  ParameterStore<float>& parameters() override { return model_->parameters(); }
  std::vector<double> NumbersToCompare() override;
  void Step() override;

 private:
  struct Part;

  const std::unique_ptr<SearchedModel> model_;
  WorkerPool pool_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace regard

#endif  // TOOLS_PEERS_SEARCH_WORK_H_
