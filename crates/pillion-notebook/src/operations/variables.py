def _pillion_variables(most=500, width=120):
    import reprlib
    import types

    from IPython.display import publish_display_data

    shell = get_ipython()  # noqa: F821 - the kernel has it
    short = reprlib.Repr()
    short.maxstring = short.maxother = short.maxlong = width

    def describe(name, value):
        found = {"name": name, "type": type(value).__name__}
        try:
            found["shape"] = [int(size) for size in value.shape]
        except Exception:  # noqa: BLE001, S110 - code of others
            pass
        try:
            found["length"] = len(value)
        except Exception:  # noqa: BLE001, S110 - code of others
            pass
        try:
            text = short.repr(value)
        except Exception as error:  # noqa: BLE001 - code of others
            text = f"<{type(error).__name__} in repr>"
        found["repr"] = " ".join(text.split())[:width]
        return found

    hidden = (types.ModuleType,)
    names = [
        (name, value)
        for name, value in list(shell.user_ns.items())
        if not name.startswith("_")
        and name not in shell.user_ns_hidden
        and not isinstance(value, hidden)
    ]
    found = [describe(name, value) for name, value in names[:most]]
    data = {"variables": found, "left_out": max(0, len(names) - most)}
    publish_display_data({"application/json": data})


try:
    _pillion_variables()
finally:
    del _pillion_variables
