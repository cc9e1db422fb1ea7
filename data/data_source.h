// What a new data source is written with. A source gives examples; it is a
// plug-in: an options message, a class, and one line of registration (see
// options/option_registry.h). docs/add_a_task.md is the guide.
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

// Reads a file that a run folder has kept (Task::Files()), by its name. An
// error is complete to print.
using ReadRunFile =
    std::function<absl::StatusOr<std::string>(const std::string& name)>;

// The default of Data.text_version.
int PresentTextVersion();

// What data is made from besides a source's options.
struct DataRequest {
  std::string path;           // data.path as the user gave it
  std::string dev_path = {};  // data.dev_path; empty where it is not given
  uint64_t seed = 0;
  int text_version = PresentTextVersion();
  // Reads the files that a run to be resumed has made from the same options;
  // null for a new run.
  ReadRunFile read_run_file = nullptr;
};

// What a data source does with data.path.
enum class DataPath { kNone, kRequired, kOptional, kIgnored };

// The interface that the framework sees; sources derive from DataSource.
class AnyDataSource {
 public:
  // One that depends on the options is declared as
  // `static DataPath Path(const Options&)` beside this.
  static constexpr DataPath kPath = DataPath::kNone;
  static constexpr bool kReadsDevPath = false;
  // Adds what is wrong with the options, under paths relative to them. A source
  // with limits besides (range) declares its own, with its options' type.
  static void Validate(const auto& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
  }

  virtual ~AnyDataSource() = default;
  virtual absl::StatusOr<std::any> LoadAny(
      const DataRequest& request) const = 0;

 protected:
  // Checks how a file is cut: options.dev_fraction() and test_fraction(). All
  // may be test, where its range allows 1.
  static void ValidateFractions(const auto& options, ConfigProblems& problems) {
    problems.CheckOwnRanges(options);
    if (options.dev_fraction() + options.test_fraction() >= 1 &&
        !(options.dev_fraction() == 0 && options.test_fraction() == 1)) {
      problems.Add("test_fraction",
                   "leaves no training examples: dev_fraction and "
                   "test_fraction must sum to less than 1");
    }
  }
};

// A source of `Data`, a copyable type whose `Data::kName` ("sentence pairs") is
// for messages. A task learns from every source of its type. The plug-in has
// `Options` and a constructor from them.
template <typename Data>
class DataSource : public AnyDataSource {
 public:
  using DataType = Data;

  // A function of the options and the request alone. An error is about the
  // file, and complete to print.
  virtual absl::StatusOr<Data> Load(const DataRequest& request) const = 0;

  absl::StatusOr<std::any> LoadAny(const DataRequest& request) const final {
    REGARD_ASSIGN_OR_RETURN(Data data, Load(request));
    return std::any(std::move(data));
  }
};

// Adds `Options`, the constructor and the options to `Base`, a DataSource or a
// class derived from one:
//
//   class MySource : public WithOptions<DataSource<MyData>, MyConfig> {
//    public:
//     using WithOptions::WithOptions;
//     ...
//   };
template <typename Base, typename Config>
class WithOptions : public Base {
 public:
  using Options = Config;

  explicit WithOptions(const Options& options) : options_(options) {}

 protected:
  const Options options_;
};

struct DataSourceInfo : OptionInfo<> {
  std::string data;  // the name of its type: "sentence pairs"
  const std::type_info* data_type;
  DataPath (*path)(const google::protobuf::Message& options);
  bool reads_dev_path;
  OptionFactory<AnyDataSource> create;

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

// Begins the definition of
// `void RegisterNAMEInDataSourceRegistry(regard::DataSourceRegistry& sources)`,
// which //data:built_in_data_sources finds by the name of its target.
#define REGARD_DATA_SOURCES(name)                       \
  extern "C" void Register##name##InDataSourceRegistry( \
      ::regard::DataSourceRegistry&);                   \
  void Register##name##InDataSourceRegistry(            \
      ::regard::DataSourceRegistry& sources)

}  // namespace regard

#endif  // DATA_DATA_SOURCE_H_
