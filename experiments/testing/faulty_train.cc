// //experiments:train with a fault in its k-th file operation:
//
//   faulty_train FAULT K ARGUMENT...
//
// FAULT is the number of a FileFaultKind. Prints the number of file operations
// at the end.
#include <cstdio>
#include <cstdlib>

#include "experiments/tasks/built_in_plugins.h"
#include "experiments/training/run_pages.h"
#include "experiments/training/train_program.h"
#include "files/file.h"
#include "files/testing/faulty_files.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  static regard::FaultyFiles files(
      static_cast<regard::FileFaultKind>(std::atoi(argv[1])),
      std::atoi(argv[2]));
  regard::ReplaceSystemFilesForTest(files);
  const int code =
      regard::TrainMain(argc - 2, argv + 2, regard::BuiltInPlugins(),
                        /*default_config=*/"", &regard::RunPages());
  std::fprintf(stderr, "%d operations\n", files.operations());
  return code;
}
