// The interface of data sources, which provide the examples of a task. A data
// source is a plug-in: an options message, a class, and one line of
// registration (see options/option_registry.h). The guide is
// docs/add_a_task.md.
#ifndef DATA_DATA_SOURCE_H_
#define DATA_DATA_SOURCE_H_

#include <any>
#include <cstdint>
#include <functional>
#include <string>
#include <typeinfo>
#include <utility>

#include "absl/status/statusor.h"
#include "options/config_problems.h"
#include "options/option_registry.h"
#include "third_party/abseil_backport/status_macros.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace regard {

class Data;

// Reads a file that a run folder stores (Task::Files()), by its name. Errors
// are ready to print.
using ReadRunFile =
    std::function<absl::StatusOr<std::string>(const std::string& name)>;

// The default of Data.text_version.
int PresentTextVersion();

// The inputs of a data source other than its options.
struct DataRequest {
  std::string path;           // data.path as given by the user
  std::string dev_path = {};  // data.dev_path; empty if not given
  uint64_t seed = 0;
  int text_version = PresentTextVersion();
  // Reads the files that the run stored earlier for the same options. Null for
  // a new run.
  ReadRunFile read_run_file = nullptr;
};

// Whether a data source needs data.path.
enum class DataPathRequirement { kNone, kRequired, kOptional, kIgnored };

// The type-erased interface of data sources. Data sources derive from
// DataSource.
class AnyDataSource {
 public:
  // If the options determine whether a source needs a path, the source also
  // declares `static DataPathRequirement Path(const Options&)`.
  static constexpr DataPathRequirement kPath = DataPathRequirement::kNone;
  static constexpr bool kReadsDevPath = false;
  // Adds the problems of the options, at paths relative to the options. If
  // `(range)` cannot express all limits of the options, the source declares its
  // own Validate() for their type.
  static void Validate(const auto& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  virtual ~AnyDataSource() = default;
  virtual absl::StatusOr<std::any> LoadAny(
      const DataRequest& request) const = 0;

 protected:
  // Checks the ranges of the options, and that dev_fraction and test_fraction
  // leave training examples. As an exception, the test split may be the whole
  // file if the range of test_fraction includes 1.
  static void ValidateRangesAndFractions(const auto& options,
                                         ConfigProblems& problems) {
    problems.CheckOwnRanges(options);
    if (options.dev_fraction() + options.test_fraction() >= 1 &&
        !(options.dev_fraction() == 0 && options.test_fraction() == 1)) {
      problems.Add("test_fraction",
                   "leaves no training examples: dev_fraction and "
                   "test_fraction must sum to less than 1");
    }
  }
};

// A source of `Data`, a copyable type. `Data::kName`, such as "sentence pairs",
// appears in messages. A task that learns from `Data` accepts every such
// source. A plug-in must have `Options` and a constructor from them.
template <typename Data>
class DataSource : public AnyDataSource {
 public:
  using DataType = Data;

  // Loads the data, which must depend only on the options and the request.
  // Errors name the file and are ready to print.
  virtual absl::StatusOr<Data> Load(const DataRequest& request) const = 0;

  absl::StatusOr<std::any> LoadAny(const DataRequest& request) const final {
    REGARD_ASSIGN_OR_RETURN(Data data, Load(request));
    return std::any(std::move(data));
  }
};

// Adds the type `Options`, the constructor and the member options_ to `Base`,
// which is a DataSource or derived from one:
//
//   class MySource : public WithOptions<DataSource<MyData>, MyConfig> {
//    public:
//   using WithOptions::WithOptions;
//   ...
//   };
template <typename Base, typename Config>
class WithOptions : public Base {
 public:
  using Options = Config;

  explicit WithOptions(const Options& options) : options_(options) {}

 protected:
  const Options options_;
};

struct DataSourceInfo : PluginInfo<> {
  std::string data;  // kName of the data type, such as "sentence pairs"
  const std::type_info* data_type;
  DataPathRequirement (*path)(const google::protobuf::Message& options);
  bool reads_dev_path;
  PluginFactory<AnyDataSource> create;

  template <typename Source>
  void Describe() {
    data = Source::DataType::kName;
    data_type = &typeid(typename Source::DataType);
    path = [](const google::protobuf::Message& options) {
      using Options = typename Source::Options;
      if constexpr (requires(const Options& own) { Source::Path(own); }) {
        return Source::Path(static_cast<const Options&>(options));
      } else {
        return Source::kPath;
      }
    };
    reads_dev_path = Source::kReadsDevPath;
  }
};

class DataSourceRegistry : public PluginRegistry<Data, DataSourceInfo> {
 public:
  DataSourceRegistry();
};

// Begins the definition of `void
// RegisterNAMEInDataSourceRegistry(regard::DataSourceRegistry& sources)`. NAME
// must be the name of the Bazel target in camel case, because
// //data:built_in_data_sources derives the function's name from the target.
#define REGARD_DATA_SOURCES(name)                       \
  extern "C" void Register##name##InDataSourceRegistry( \
      ::regard::DataSourceRegistry&);                   \
  void Register##name##InDataSourceRegistry(            \
      ::regard::DataSourceRegistry& sources)

}  // namespace regard

#endif  // DATA_DATA_SOURCE_H_
