print("inspectd")
