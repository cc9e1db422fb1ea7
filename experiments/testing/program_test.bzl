"""`program_test()`: a shell test of programs."""

def _is_label(arg):
    return arg.startswith(":") or arg.startswith("//")

def program_test(name, args, size, data = [], **kwargs):
    """Runs the script NAME.sh, which may source experiments/testing.sh.

    Args:
      name: of the test.
      args: of the script. A label (":predict", "//configs:table.textproto") is
        data of the test, and the script gets its path; the rest is passed as
        it is.
      size: of the test.
      data: what the script reads besides.
      **kwargs: what else sh_test takes.
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
