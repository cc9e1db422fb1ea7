"""`program_test()`: a shell test of programs."""

def _is_label(arg):
    return arg.startswith(":") or arg.startswith("//")

def program_test(name, args, size, data = [], **kwargs):
    """Runs the script NAME.sh, which may source experiments/testing.sh.

      name: name of the test.
      args: arguments of the script. The script gets the path of each label
        (":predict", "//configs:table.textproto"), which is data of the test.
        Other arguments are passed unchanged.
      size: size of the test.
      data: other files that the script reads.
      **kwargs: other attributes of sh_test.
    """
    labels = [arg for arg in args if _is_label(arg)]
    native.sh_test(
        name = name,
        size = size,
        srcs = [name + ".sh"],
        args = [
            "$(rootpath {})".format(arg) if _is_label(arg) else arg
            for arg in args
        ],
        data = data + labels + ["//experiments:testing.sh"],
        **kwargs
    )
