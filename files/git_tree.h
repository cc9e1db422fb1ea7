// Reads the commit of a git working tree, and whether it was changed.
#ifndef FILES_GIT_TREE_H_
#define FILES_GIT_TREE_H_

#include <string>

namespace regard {

struct GitTree {
  std::string commit = {};  // empty without a tree or git, or after an error
  bool changed = false;     // whether files differ from the commit
};

// Reads the working tree at `path` without changing it.
GitTree ReadGitTree(const std::string& path);

}  // namespace regard

#endif  // FILES_GIT_TREE_H_
